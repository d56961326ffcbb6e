"""What samples do not show of the ops of networks: limits, errors, state, orders of derivative, tracing."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from compatgrad import _C
from tests.ops.harness import constants, gradients

op = _C.op
INF, NAN = float("inf"), float("nan")


def var(value, requires_grad=True, dtype=torch.float64):
    return _C.Variable(torch.as_tensor(value, dtype=dtype).clone(), requires_grad)


def draw(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).uniform(-1, 1, shape))


# ---- batch normalization -----------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2, 2), (1, 3)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])  # of the running statistics
def test_running_statistics(shape, dtype):
    x, decay = draw(*shape), 0.8
    mean, var_ = torch.full((3,), 0.5, dtype=dtype), torch.full((3,), 2.0, dtype=dtype)
    op("batch_normalization")(
        var(x), var(torch.ones(3)), var(torch.zeros(3)), running_mean=mean, running_var=var_, decay=decay
    )
    axes = (0, *range(2, x.dim()))
    n = x.numel() // 3
    torch.testing.assert_close(mean, (0.5 * decay + x.mean(axes) * (1 - decay)).to(dtype))
    unbiased = x.var(axes, unbiased=False) * n / max(n - 1, 1)
    torch.testing.assert_close(var_, (2.0 * decay + unbiased * (1 - decay)).to(dtype))


def test_running_statistics_are_views_that_were_given():
    both = torch.zeros(3, 2, dtype=torch.float64)
    x = draw(4, 3)
    op("batch_normalization")(
        var(x), var(torch.ones(3)), var(torch.zeros(3)), running_mean=both[:, 0], running_var=both[:, 1], decay=0.0
    )
    torch.testing.assert_close(both[:, 0], x.mean(0))
    torch.testing.assert_close(both[:, 1], x.var(0))


@pytest.mark.parametrize("name", ["batch_normalization", "fixed_batch_normalization", "group_normalization"])
@pytest.mark.parametrize(
    "x_dtype, dtype", [(torch.float16, torch.float32), (torch.float32, torch.float64), (torch.float32, torch.float16)]
)
def test_normalization_of_mixed_dtypes(name, x_dtype, dtype):
    arguments = [draw(4, 6, 3), draw(6, seed=1) + 2, draw(6, seed=2)]
    if name == "fixed_batch_normalization":
        arguments += [draw(6, seed=3), draw(6, seed=4) + 2]
    params = {"groups": 2} if name == "group_normalization" else {}
    xs = [var(a, dtype=dtype if k else x_dtype) for k, a in enumerate(arguments)]
    y = op(name)(*xs, **params)
    assert y.tensor.dtype == x_dtype
    exact = op(name)(*constants([x.tensor.double() for x in xs]), **params)
    torch.testing.assert_close(y.tensor.double(), exact.tensor, rtol=1e-2, atol=1e-2)
    gxs = gradients([y], xs, constants([torch.ones_like(y.tensor)]))
    assert [g.tensor.dtype for g in gxs] == [x.tensor.dtype for x in xs]


def test_batch_of_one_is_normalized_to_beta():
    y = op("batch_normalization")(var(draw(1, 3)), var(torch.ones(3)), var(torch.arange(3.0)))
    torch.testing.assert_close(y.tensor, torch.arange(3.0, dtype=torch.float64)[None])


# ---- third derivatives -------------------------------------------------------------------------------------
def normalized(x, axis):
    """Composed: torch's own kernels have no third derivative."""
    d = x - x.mean(axis, keepdim=True)
    return d / ((d * d).mean(axis, keepdim=True) + 1e-2).sqrt()


def lstm(c, x):
    a, i, f, o = x.reshape(2, 3, 4).unbind(2)
    n = torch.tanh(a) * torch.sigmoid(i) + c * torch.sigmoid(f)
    return torch.cat([n, torch.sigmoid(o) * torch.tanh(n)], 1)


THIRD = {
    "batch_normalization": (lambda x, g, b: normalized(x, 0) * g + b, [(4, 3), (3,), (3,)], dict(eps=1e-2)),
    "layer_normalization": (lambda x, g, b: normalized(x, 1) * g + b, [(3, 4), (4,), (4,)], dict(eps=1e-2)),
    "sample_normalization": (
        lambda x, b, g: normalized(x, (1, 2)) * g + b,
        [(2, 3, 2), (3, 2), (3, 2)],
        dict(eps=1e-2, lead=1),
    ),
    "group_normalization": (
        lambda x, g, b: F.group_norm(x, 2, g, b, 1e-2),
        [(2, 4, 2), (4,), (4,)],
        dict(eps=1e-2, groups=2),
    ),
    "softmax": (lambda x: torch.softmax(x, 1), [(3, 4)], {}),
    "log_softmax": (lambda x: torch.log_softmax(x, 1), [(3, 4)], {}),
    "convolution": (
        lambda x, w: F.conv2d(x, w, None, 2, 1),
        [(2, 2, 5, 5), (3, 2, 3, 3)],
        dict(stride=[2, 2], pad=[1, 1]),
    ),
    "normalize": (lambda x: x / (x.norm(dim=1, keepdim=True) + 1e-2), [(3, 4)], dict(eps=1e-2)),
    "lstm": (lstm, [(2, 3), (2, 12)], {}),
}


def towers(f, grad, total, xs):
    """Gradients of the sum of cubes of gradients of the sum of cubes of f."""
    y = total(f(*xs))
    for _ in range(2):
        y = sum((total(g) for g in grad(y, xs)), start=total(xs[0]))
    return grad(y, xs)


@pytest.mark.parametrize("name", THIRD)
def test_third_derivative(name):
    reference, shapes, params = THIRD[name]
    arrays = [draw(*s, seed=k) + (k == 1) for k, s in enumerate(shapes)]
    theirs = [a.clone().requires_grad_() for a in arrays]

    def torch_grad(y, xs):
        return torch.autograd.grad(y, xs, create_graph=True, materialize_grads=True)

    expected = towers(reference, torch_grad, lambda t: (t * t * t).sum(), theirs)

    def forward(*xs):
        ys = op(name)(*xs, **params)
        return op("concat")(list(ys), axis=1) if isinstance(ys, tuple) else ys

    def grad(y, xs):
        gs = gradients([y], xs, [var(1.0, False)], record=True)
        zeros = [var(torch.zeros_like(x.tensor), False) for x in xs]
        return [z if g is None else g for g, z in zip(gs, zeros, strict=True)]

    ours = towers(forward, grad, lambda v: op("sum")(v * v * v), [var(a) for a in arrays])
    for a, e in zip(ours, expected, strict=True):
        torch.testing.assert_close(a.tensor, e.detach(), rtol=1e-7, atol=1e-7)


# ---- limits ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lstm_at_the_limits_of_numbers(dtype):
    for value, c_next in [(1e4, 1 + 0.5), (-1e4, 0.0), (INF, 1 + 0.5), (-INF, 0.0), (NAN, NAN)]:
        c, h = op("lstm")(var([[0.5]], dtype=dtype), var([[value] * 4], dtype=dtype))
        np.testing.assert_array_equal(c.tensor.numpy(), [[c_next]])
        assert h.tensor.isnan().all() == np.isnan(value)


def test_fused_functions_are_exact_to_the_last_digits():
    x = torch.linspace(-30, 30, 60001).repeat_interleave(4)
    cells = torch.zeros(1, 60001)
    c, h = op("lstm")(var(cells, False, torch.float32), var(x[None], False, torch.float32))
    x = x[::4].double()
    expected = torch.tanh(x) * torch.sigmoid(x)
    torch.testing.assert_close(c.tensor[0].double(), expected, rtol=1e-6, atol=0)
    expected = torch.sigmoid(x) * torch.tanh(expected)
    torch.testing.assert_close(h.tensor[0].double(), expected, rtol=2e-6, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("tail", [(), (2,)])
def test_cross_entropy_of_large_and_infinite_scores(dtype, tail):
    x = torch.tensor([[1e30, 0, -1e30], [-INF, 0, 0], [NAN, 0, 0]], dtype=dtype)
    x = x.reshape(3, 3, *[1] * len(tail)).expand(3, 3, *tail).contiguous()
    t = torch.tensor([0, 1, 2]).reshape(3, *[1] * len(tail)).expand(3, *tail)
    v = var(x, dtype=dtype)
    y = op("softmax_cross_entropy")(v, _C.Variable(t, False), reduce="no")
    torch.testing.assert_close(y.tensor, F.cross_entropy(x, t, reduction="none"), equal_nan=True)
    (g,) = gradients([y], [v], constants([torch.ones_like(y.tensor)]))
    expected = F.softmax(x, 1) - F.one_hot(t, 3).movedim(-1, 1)
    torch.testing.assert_close(g.tensor[:2], expected[:2].to(dtype))
    assert g.tensor[2].isnan().all()


def test_cross_entropy_labels():
    x = var(draw(2, 3))

    def loss(labels, **params):
        return op("softmax_cross_entropy")(x, _C.Variable(torch.tensor(labels), False), **params)

    assert loss([-1, -1]).tensor == 0
    assert gradients([loss([-1, -1])], [x], [var(1.0, False)])[0].tensor.abs().sum() == 0
    torch.testing.assert_close(loss([0, -2]).tensor, loss([0, 1]).tensor)
    for bad in ([0, 3], [0, -4]):
        with pytest.raises(IndexError, match="label"):
            loss(bad)
    with pytest.raises(ValueError, match="reduce"):
        loss([0, 1], reduce="sum")
    with pytest.raises(ValueError, match="labels"):
        loss([0, 1, 2])


def test_embedding_ids_out_of_range():
    w = var(draw(3, 2))
    for bad in (3, -4):
        with pytest.raises(IndexError, match="id"):
            op("embedding")(w, _C.Variable(torch.tensor([0, bad]), False))


def test_max_pooling_takes_the_first_maximum_and_nan():
    x = var([[[[1, 1, 2, NAN], [1, 1, NAN, 3]]]])
    y, at = op("max_pooling")(x, ksize=[2, 2], return_indices=True)
    assert y.tensor[0, 0, 0, 0] == 1 and y.tensor[0, 0, 0, 1].isnan()
    assert at.tensor[0, 0, 0, 0] == 0
    (g,) = gradients([y], [x], constants([torch.ones_like(y.tensor)]))
    assert g.tensor[0, 0, 0, :2].tolist() == [1, 0] and g.tensor.sum() == 2


@pytest.mark.parametrize("ksize, stride, pad", [(2, 2, 0), (3, 2, 1), (3, 1, 1), (5, 3, 2), (17, 16, 0)])
@pytest.mark.parametrize("size", [32, 33, 47])
def test_max_pooling_of_many_sizes(ksize, stride, pad, size):
    """Sizes around the width of vectors, windows of more than 256 elements."""
    x = draw(3, 2, size, size + 1).float()
    v = var(x, dtype=torch.float32)
    y = op("max_pooling")(v, ksize=[ksize], stride=[stride], pad=[pad], cover_all=False)
    x.requires_grad_()
    e = F.max_pool2d(x, ksize, stride, pad)
    torch.testing.assert_close(y.tensor, e.detach(), rtol=0, atol=0)
    gy = draw(*e.shape, seed=1).float()
    (g,) = gradients([y], [v], constants([gy]))
    torch.testing.assert_close(g.tensor, torch.autograd.grad(e, x, gy)[0])


def test_normalize_has_derivatives_at_zero_vectors():
    x = var([[0.0, 0.0], [3.0, 4.0]])
    (g,) = gradients([op("sum")(op("normalize")(x, eps=0.5))], [x], [var(1.0, False)], record=True)
    torch.testing.assert_close(g.tensor[0], torch.full((2,), 2.0, dtype=torch.float64))
    (gg,) = gradients([op("sum")(g * g)], [x], [var(1.0, False)])
    assert gg.tensor.isfinite().all()


def test_dropout_draws_from_torch():
    x = var(torch.ones(1000))
    torch.manual_seed(3)
    y = op("dropout")(x, ratio=0.25)
    kept = (y.tensor != 0).double()
    assert 700 < kept.sum() < 800
    torch.testing.assert_close(y.tensor, kept / 0.75)
    (g,) = gradients([y], [x], constants([torch.ones(1000).double()]))
    torch.testing.assert_close(g.tensor, kept / 0.75)
    torch.manual_seed(3)
    torch.testing.assert_close(op("dropout")(x, ratio=0.25).tensor, y.tensor)
    with pytest.raises(ValueError, match="ratio"):
        op("dropout")(x, ratio=1.5)


# ---- gradients written into buffers ------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["relu", "leaky_relu", "elu", "batch_normalization"])
def test_gradients_in_hands_of_others_are_not_overwritten(name):
    parameters = [var(torch.ones(3)), var(torch.zeros(3))] if name == "batch_normalization" else []
    x, gy = var(draw(4, 3)), draw(4, 3, seed=1)
    y = op(name)(x, *parameters)
    kept, g = gy.clone(), _C.Variable(gy, False)
    (first,) = gradients([y], [x], [g])
    torch.testing.assert_close(gy, kept, rtol=0, atol=0)
    # one gradient that reaches two functions
    z = y + op(name)(var(draw(4, 3, seed=2)) + x, *parameters)
    (second,) = gradients([z * 1.0], [x], [g])
    torch.testing.assert_close(gy, kept, rtol=0, atol=0)
    (alone,) = gradients([op(name)(var(draw(4, 3, seed=2)) + x, *parameters)], [x], [g])
    torch.testing.assert_close(second.tensor, first.tensor + alone.tensor)


# ---- tracing -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name, shapes, params",
    [
        ("max_pooling", [(1, 2, 4, 4)], dict(ksize=[2, 2])),
        ("batch_normalization", [(4, 3), (3,), (3,)], {}),
        ("lstm", [(2, 3), (2, 12)], {}),
        ("embedding", [(4, 3)], {}),
        ("softmax_cross_entropy", [(2, 4)], {}),
    ],
)
def test_tracers_see_operations(name, shapes, params):
    """Loops on raw memory would be invisible to them."""
    labels = [] if name not in ("embedding", "softmax_cross_entropy") else [torch.tensor([1, 3])]

    def step(*tensors):
        xs = [_C.Variable(t, True) for t in tensors]
        ys = op(name)(*xs, *constants(labels), **params)
        ys = list(ys) if isinstance(ys, tuple) else [ys]
        gxs = gradients(ys, xs, constants([torch.ones_like(y.tensor) for y in ys]))
        return [v.tensor for v in (*ys, *gxs)]

    first, other = [[draw(*s, seed=k + seed) for k, s in enumerate(shapes)] for seed in (0, 10)]
    traced = make_fx(step)(*first)
    for a, e in zip(traced(*other), step(*other), strict=True):
        torch.testing.assert_close(a, e)
