"""Layers give the results of nnabla 1.39.0 (tests/golden/nnabla_layers.py) and have derivatives of any order."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from tests.golden import nnabla_layers
from tests.golden.nnabla_layers import CASES, GOLDEN, INTEGERS, A

EVERY_CASE = pytest.mark.parametrize("k", range(len(CASES)), ids=lambda k: f"{k}-{CASES[k][0]}")


def variable(a, need_grad=True):
    if a is None:
        return None
    x = nn.Variable(a.shape, need_grad=need_grad)
    x.d = a
    return x


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as file:
        return dict(file)


@EVERY_CASE
def test_like_nnabla(k, golden):
    ys, grads = nnabla_layers.run(nn, F, *CASES[k])
    assert len(ys) == sum(key.startswith(f"{k}_y") for key in golden)
    for j, y in enumerate(ys):
        np.testing.assert_allclose(y, golden[f"{k}_y{j}"], rtol=2e-5, atol=2e-5)
    for i, g in enumerate(grads):
        if g is not None:
            np.testing.assert_allclose(g, golden[f"{k}_g{i}"], rtol=1e-4, atol=1e-4)


@EVERY_CASE
def test_second_derivative(k):
    """Compares the derivative of <gradient, c> in a random direction with a finite difference."""
    name, inputs, args = CASES[k]
    if name.startswith("max"):
        inputs = [a * 20 for a in inputs]  # keeps the position of each maximum during the finite difference
    rng = np.random.default_rng(2)
    floats = [i for i, a in enumerate(inputs) if a is not None and i not in INTEGERS.get(name, ())]

    def gradients(arrays):
        xs = [variable(a, i in floats) for i, a in enumerate(arrays)]
        ys = getattr(F, name)(*xs, **args)
        ys = [ys] if not isinstance(ys, tuple) else ys[:1] if "sequence" in name else ys
        outer = [variable(nnabla_layers.cotangent(y.shape)) for y in ys]
        return [xs[i] for i in floats], nn.grad(list(ys), [xs[i] for i in floats], grad_outputs=outer)

    with nn.auto_forward():
        xs, gxs = gradients(inputs)
        cs = [rng.standard_normal(g.shape).astype("float32") for g in gxs]
        slope = F.add_n(*[F.sum(g * variable(c, False)) for g, c in zip(gxs, cs, strict=True)])
        if slope.parent is None:
            second = [np.zeros(x.shape) for x in xs]
        else:
            second = [g.d for g in nn.grad([slope], xs)]
        directions = [rng.standard_normal(x.shape) for x in xs]

        def moved(step):
            arrays = list(inputs)
            for i, d in zip(floats, directions, strict=True):
                arrays[i] = inputs[i] + step * d
            return [g.d.astype("float64") for g in gradients(arrays)[1]]

        step = 2e-3
        numerical = [(b - a) / (2 * step) for a, b in zip(moved(-step), moved(step), strict=True)]
    expected = sum(float((n * c).sum()) for n, c in zip(numerical, cs, strict=True))
    scale = sum(float(np.abs(n * c).sum()) for n, c in zip(numerical, cs, strict=True))
    actual = sum(float((g * d).sum()) for g, d in zip(second, directions, strict=True))
    assert actual == pytest.approx(expected, abs=3e-3 * (1 + scale))


@pytest.mark.parametrize(
    "name, args",
    [
        ("convolution", dict(group=2, pad=(1, 0), stride=(2, 1), dilation=(1, 2))),
        ("deconvolution", dict(group=2, stride=(2, 1), output_padding=(1, 0))),
        ("max_pooling", dict(kernel=(2, 3), stride=(2, 1), pad=(1, 0), ignore_border=False)),
        ("average_pooling", dict(kernel=(2, 3), pad=(1, 1), including_pad=False)),
        ("sum_pooling", dict(kernel=(2, 2))),
        ("unpooling", dict(kernel=(2, 3))),
        ("deformable_convolution", dict(group=2, pad=(1, 0))),
        ("roi_align", dict(output_size=(2, 2))),
    ],
)
def test_channel_last(name, args):
    """nnabla's CPU backend lacks channel_last: compares with the moved axes of the default layout."""
    x, more = A(2, 4, 6, 7), []
    if "convolution" in name:
        more = [A(6, 2, 3, 2) if name != "deconvolution" else A(4, 3, 3, 2)]
    if name == "deformable_convolution":
        more.append(A(2, 12, 6, 7))
    boxes = [np.array([[1, 0, 1, 5, 6]], "float32")] if name == "roi_align" else []

    def first(a):
        return nn.Variable.from_numpy_array(a)

    def last(a):
        return nn.Variable.from_numpy_array(np.ascontiguousarray(np.moveaxis(a, 1, -1)))

    f = getattr(F, name)
    with nn.auto_forward():
        expected = f(*map(first, [x, *more, *boxes]), **args)
        y = f(*map(last, [x, *more]), *map(first, boxes), **args, channel_last=True)
    np.testing.assert_allclose(np.moveaxis(y.d, -1, 1), expected.d, rtol=1e-5, atol=1e-6)


def test_hot_functions_are_single_nodes():
    """Frequently used functions are one node each, whose arguments are those of nnabla."""
    x = nn.Variable((2, 4, 6, 6))
    y = F.convolution(x, nn.Variable((3, 4, 3, 3)), pad=[1, 1])
    assert y.parent.info.type_name == "Convolution"
    assert dict(y.parent.info.args) == {
        "base_axis": 1,
        "pad": [1, 1],
        "stride": [1, 1],
        "dilation": [1, 1],
        "group": 1,
        "channel_last": False,
    }
    y = F.max_pooling(x, [2, 2])
    assert dict(y.parent.info.args) == {
        "kernel": [2, 2],
        "stride": [2, 2],
        "ignore_border": True,
        "pad": [0, 0],
        "channel_last": False,
    }
    y = F.affine(x, nn.Variable((144, 5)))
    assert (y.shape, dict(y.parent.info.args)) == ((2, 5), {"base_axis": 1})


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: F.affine(x, nn.Variable((5, 2))), "affine.*weight"),
        (lambda x: F.affine(x, nn.Variable((144, 2)), nn.Variable((3,))), "affine.*bias"),
        (lambda x: F.convolution(x, nn.Variable((3, 3, 3, 3))), "convolution.*channels"),
        (lambda x: F.convolution(x, nn.Variable((3, 4, 3, 3)), pad=(1,)), "convolution.*pad"),
        (lambda x: F.convolution(x, nn.Variable((3, 4, 9, 3))), "convolution.*spatial"),
        (lambda x: F.convolution(x, nn.Variable((3, 4, 3, 3)), nn.Variable((2,))), "convolution.*bias"),
        (lambda x: F.deconvolution(x, nn.Variable((4, 3, 3, 3)), output_padding=(1, 1)), "output_padding"),
        (lambda x: F.depthwise_convolution(x, nn.Variable((5, 3, 3))), "depthwise_convolution.*weight"),
        (lambda x: F.max_pooling(x, (7, 2), stride=(1, 1)), "max_pooling.*result"),
        (lambda x: F.average_pooling(x, (2, 2), stride=(2,)), "average_pooling.*stride"),
        (lambda x: F.roi_align(x, nn.Variable((3, 4)), (2, 2)), "roi_align.*boxes"),
        (lambda x: F.lstm(x, x, x, x), "lstm.*x must"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(nn.Variable((2, 4, 6, 6)))


# ---- quantized weights ----
def signs(w, zero):
    return np.where(w == 0, zero, np.sign(w))


def test_the_sign_of_nan_is_that_of_zero():
    w, binary = variable(np.array([[np.nan, 0, -2]], "float32")), variable(np.zeros((1, 3), "float32"))
    F.binary_connect_affine(variable(A(2, 1)), w, binary, quantize_zero_to=0.5).forward()
    np.testing.assert_array_equal(binary.d, [[0.5, 0.5, -1]])


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", ["affine", "convolution"])
def test_binary_weights(name, scaled):
    x, w, b = (A(2, 12), A(12, 3), A(3)) if name == "affine" else (A(2, 4, 5, 5), A(3, 4, 2, 2), A(3))
    w.flat[3] = 0
    binary, alpha = variable(np.zeros_like(w)), variable(np.zeros(3, "float32"))
    xs = [variable(x), variable(w), binary, *[alpha] * scaled, variable(b)]
    y = getattr(F, f"binary_{'weight' if scaled else 'connect'}_{name}")(*xs, quantize_zero_to=0.5)
    y.forward()
    np.testing.assert_array_equal(binary.d, signs(w, 0.5))
    effective = signs(w, 0.5)
    if scaled:
        axes = 0 if name == "affine" else (1, 2, 3)
        np.testing.assert_allclose(alpha.d, np.abs(w).mean(axes), rtol=1e-6)
        effective = effective * np.abs(w).mean(axes, keepdims=True)
    plain = [variable(a) for a in (x, effective.astype("float32"), b)]
    expected = getattr(F, name)(*plain)
    expected.forward()
    np.testing.assert_allclose(y.d, expected.d, rtol=1e-5, atol=1e-6)
    for v in [*xs, *plain]:
        v.grad.zero()
    y.backward()
    expected.backward()
    for v, e in zip([xs[0], xs[1], xs[-1]], plain, strict=True):
        np.testing.assert_allclose(v.g, e.g, rtol=1e-5, atol=1e-6)


def test_incremental_quantization():
    """Quantizes the half of the weights with the largest absolute values at step 1, and all at step 3; quantized
    weights stay fixed."""
    w = np.array([[0.9, -0.3], [0.05, -0.6]], "float32")
    x, weight, fixed = variable(A(3, 2)), variable(w), variable(np.zeros((2, 2), "float32"))
    y = F.inq_affine(x, weight, fixed, num_bits=4, inq_iterations=(1, 3))
    y.forward()
    np.testing.assert_array_equal(weight.d, w)
    y.forward()
    np.testing.assert_array_equal(fixed.d, [[1, 0], [0, 1]])
    np.testing.assert_allclose(weight.d, [[1, -0.3], [0.05, -0.5]])
    weight.d = weight.d + 0.1
    y.forward()
    np.testing.assert_allclose(weight.d, [[1, -0.2], [0.15, -0.5]], rtol=1e-6)
    y.forward()
    np.testing.assert_array_equal(weight.d, [[1, -0.25], [0.125, -0.5]])
    np.testing.assert_allclose(y.d, x.d @ weight.d, rtol=1e-6)


# ---- chains of functions ----
def test_fused_convolution():
    x, w, z = variable(A(2, 3, 5, 5)), variable(A(4, 3, 3, 3)), variable(A(2, 4, 5, 5))
    stats = [variable(np.full((1, 4, 1, 1), v, "float32")) for v in (0.1, 1.2, 0.0, 1.0)]
    y = F.fused_convolution(x, w, None, *stats, z=z, pad=(1, 1), nonlinearity="leaky_relu", nonlinearity_args=[0.3])
    h = F.convolution(x, w, pad=(1, 1))
    h = F.batch_normalization(h, *stats[:2], *[v.get_unlinked_variable() for v in stats[2:]])
    expected = F.leaky_relu(F.add2(h, z), 0.3)
    for v in (y, expected):
        v.forward()
    np.testing.assert_allclose(y.d, expected.d, rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match="nonlinearity"):
        F.fused_convolution(x, w, nonlinearity="cosine")


def test_attention():
    """Compares with the definition, with a mask and hidden source positions."""
    rng = np.random.default_rng(0)
    targets, sources, batch, width, heads = 3, 4, 2, 6, 2
    q, k, v = (rng.standard_normal((n, batch, width)).astype("float32") for n in (targets, sources, sources))
    ws = [rng.standard_normal((width, width)).astype("float32") for _ in range(4)]
    mask = rng.standard_normal((targets, sources)).astype("float32")
    hidden = np.array([[0, 0, 0, 1], [0, 1, 0, 0]], "float32")
    with nn.auto_forward():
        y, weights = F.multi_head_attention(
            *map(variable, (q, k, v)),
            heads,
            *map(variable, ws),
            additive_mask=variable(mask),
            key_padding_mask=variable(hidden),
        )
    part = width // heads
    q, k, v = ((a @ w).reshape(-1, batch, heads, part) for a, w in zip((q, k, v), ws, strict=False))
    scores = np.einsum("tbhd,sbhd->bhts", q, k) / np.sqrt(part) + mask
    scores = np.where(hidden[:, None, None] > 0, -np.inf, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    e /= e.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights.d, e.reshape(-1, targets, sources), rtol=1e-4, atol=1e-6)
    expected = np.einsum("bhts,sbhd->tbhd", e, v).reshape(targets, batch, width) @ ws[3]
    np.testing.assert_allclose(y.d, expected, rtol=1e-4, atol=1e-5)


def test_recurrence_that_does_not_train_has_no_gradient():
    x, h, w = variable(A(2, 3, 4)), variable(A(1, 1, 3, 2)), variable(A(1, 2, 6))
    y, _ = F.rnn(x, h, w, training=False)
    y.forward()
    trained, _ = F.rnn(x, h, w)
    trained.forward()
    np.testing.assert_array_equal(y.d, trained.d)
    with pytest.raises(RuntimeError, match="training"):
        y.backward()


@pytest.mark.parametrize("enforce_sorted", [True, False])
def test_packing_and_back(enforce_sorted):
    from compatgrad.nnabla.utils import rnn

    lengths = [4, 2, 1] if enforce_sorted else [2, 4, 1]
    arrays = [A(n, 3) for n in lengths]
    with nn.auto_forward():
        packed = rnn.pack_sequence([variable(a) for a in arrays], enforce_sorted=enforce_sorted)
        np.testing.assert_array_equal(packed.batch_sizes.d, [3, 2, 1, 1])
        padded, found = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=5)
    np.testing.assert_array_equal(found.d, lengths)
    assert padded.shape == (3, 5, 3)
    for row, a in zip(padded.d, arrays, strict=True):
        np.testing.assert_array_equal(row[: len(a)], a)
        assert (row[len(a) :] == 0).all()
    with pytest.raises(ValueError, match="total_length"):
        rnn.pad_packed_sequence(packed, total_length=3)


@pytest.mark.parametrize("pool,expected", [(F.max_pooling, 3.0), (F.average_pooling, 2.0), (F.sum_pooling, 6.0)])
def test_windows_larger_than_the_image_by_less_than_a_stride(pool, expected):
    """The number of windows is rounded towards 0, as in nnabla, so that there is one window, with the elements inside
    the image."""
    x = nn.Variable.from_numpy_array(np.arange(1.0, 4.0).reshape(1, 1, 3, 1)).apply(need_grad=True)
    y = pool(x, (4, 2), (3, 2))
    x.grad.zero()
    y.forward()
    y.backward()
    assert y.shape == (1, 1, 1, 1) and y.d.item() == expected
    np.testing.assert_allclose(x.g.sum(), 3.0 if pool is F.sum_pooling else 1.0)
    with pytest.raises(RuntimeError, match="would be"):
        pool(x, (6, 2), (3, 2))


def test_kernels_larger_than_the_image_by_less_than_a_stride():
    x = nn.Variable.from_numpy_array(np.arange(1.0, 7.0).reshape(1, 2, 1, 3)).apply(need_grad=True)
    w = nn.Variable.from_numpy_array(np.arange(16.0).reshape(2, 2, 2, 2)).apply(need_grad=True)
    y = F.convolution(x, w, stride=(2, 2))
    for v in (x, w):
        v.grad.zero()
    y.forward()
    y.backward()
    assert y.d.tolist() == [[[[43.0]], [[139.0]]]]
    assert x.g.ravel().tolist() == [8, 10, 0, 16, 18, 0]
    assert w.g[0].ravel().tolist() == [1, 2, 0, 0, 4, 5, 0, 0]
    with pytest.raises(RuntimeError, match="would be"):
        F.convolution(x, w)


def test_kernels_of_pixels_have_four_axes():
    x, kernel = nn.Variable((1, 1, 4, 4)), nn.Variable((1, 2, 3, 3))
    with pytest.raises(RuntimeError, match=r"both kernels must have 4 axes, not shapes .*\(1, 2, 3\)"):
        F.adaptive_separable_convolution(x, nn.Variable((1, 2, 3)), kernel)


V = nn.Variable
NOT_A_DIVISOR = {
    "no axes": (RuntimeError, "deconvolution: x must have axes", lambda: F.deconvolution(V(()), V((1, 1, 1, 2)))),
    "no axes of binary weights": (
        RuntimeError,
        "x must have axes",
        lambda: F.binary_connect_convolution(V(()), V((1, 1, 2)), V((1, 1, 2))),
    ),
    "no heads": (
        ValueError,
        "must be multiples of num_heads=0",
        lambda: F.multi_head_attention(*[V((3, 1, 4))] * 3, 0, *[V((4, 4))] * 4),
    ),
    "a divisor of 0": (
        ValueError,
        "divisor must be positive, not 0",
        lambda: PF.depthwise_deconvolution(V((2, 4, 4, 4)), (2, 2), divisor=0),
    ),
    "a stride of 0": (
        RuntimeError,
        r"fft_size \(4\) must be a multiple of stride \(0\)",
        lambda: F.istft(V((1, 3, 4)), V((1, 3, 4)), 4, 0, 4, pad_mode="constant"),
    ),
}


@pytest.mark.parametrize("name", NOT_A_DIVISOR)
def test_an_error_says_what_cannot_divide(name):
    error, message, call = NOT_A_DIVISOR[name]
    with pytest.raises(error, match=message):
        call()
    nn.clear_parameters()
