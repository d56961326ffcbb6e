"""Sums and products of few numbers are computed without ATen (csrc/ops/few.h): the same bits, and whoever watches
torch's operations sees them all the same."""

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import compatgrad
from compatgrad import _C

LIMIT = 1024
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
NUMBERS = {
    "add_scalar": lambda x, s: x + s,
    "mul_scalar": lambda x, s: x * s,
    "div_scalar": lambda x, s: x / s,
    "rsub_scalar": lambda x, s: s - x,
    "rdiv_scalar": lambda x, s: torch.div(torch.tensor(s, dtype=x.dtype), x),  # s / x is a product
}
UNARY = {"neg": torch.neg, "square": torch.square}
ODD = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-45, 3.4e38, 1.0, -2.5]


def run(name, *tensors, **params):
    return _C.op(name)(*[_C.Variable(t, requires_grad=False) for t in tensors], **params).tensor


def same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    if a.dtype.is_complex:
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    # a NaN's sign and payload mean nothing
    assert torch.equal(torch.isnan(a), torch.isnan(b))
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    a, b = (torch.where(torch.isnan(t), 7, t).contiguous().view(bits) for t in (a, b))
    assert torch.equal(a, b)


def odd_numbers(shape, dtype):
    n = int(np.prod(shape))
    values = (ODD * (n // len(ODD) + 1))[:n]
    return torch.tensor(values, dtype=dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (9,), (3, 0, 2), (LIMIT,), (LIMIT + 1,), (4, 5, 6)])
def test_the_bits_of_aten(shape, dtype):
    torch.manual_seed(0)
    a, b = odd_numbers(shape, dtype), torch.randn(shape).to(dtype)
    for name, f in BINARY.items():
        same_bits(run(name, a, b), f(a, b))
        same_bits(run(name, b, a), f(b, a))
    for name, f in UNARY.items():
        same_bits(run(name, a), f(a))
    for number in (3, 0.1, -0.0, 0, float("inf"), float("nan")):
        for name, f in NUMBERS.items():
            if name != "rdiv_scalar" or dtype in (torch.float32, torch.float64):
                same_bits(run(name, a, value=number), f(a, number))


def test_a_number_beyond_the_largest_float_is_infinite():
    x = torch.tensor([1.0, 0.0, -2.0])
    assert run("mul_scalar", x, value=1e300).tolist()[::2] == [float("inf"), -float("inf")]
    assert run("add_scalar", x, value=1e300).tolist() == [float("inf")] * 3
    assert run("mul_scalar", x.double(), value=1e300).tolist() == [1e300, 0.0, -2e300]


LAYOUTS = {
    "transposed": lambda t: t.t(),
    "every other": lambda t: t[:, ::2],
    "expanded": lambda t: t[:1].expand(4, 6),
    "channels last": lambda t: t.reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
    "part of an array": lambda t: t.flatten()[3:11],
    "negative": lambda t: torch.view_as_complex(t.reshape(4, 3, 2)).conj().imag,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    x = LAYOUTS[layout](torch.arange(24.0).reshape(4, 6) + 1)
    for name, f in BINARY.items():
        same_bits(run(name, x, x), f(x, x))
        same_bits(run(name, x, x + 1), f(x, x + 1))
    for name, f in NUMBERS.items():
        same_bits(run(name, x, value=2.5), f(x, 2.5))
    assert run("mul", x, x).stride() == (x * x).stride()


@pytest.mark.parametrize("shapes", [((3, 4), (4,)), ((3, 1), (1, 4)), ((), (5,)), ((1,), ()), ((0, 4), (1, 4))])
def test_broadcasting(shapes):
    a, b = (torch.rand(s) + 0.5 for s in shapes)
    for name, f in BINARY.items():
        same_bits(run(name, a, b), f(a, b))


def test_dtypes_are_promoted_by_aten():
    a, b = torch.tensor([1.5, 2.0]), torch.tensor([1, 2])
    assert run("mul", a, b).dtype == torch.float32
    assert run("mul", a, b.double()).dtype == torch.float64
    assert run("div", b, b).dtype == torch.float32


def test_a_result_is_a_tensor_of_its_own():
    x = torch.ones(3)
    y = run("mul", x, x)
    y += 1
    assert x.tolist() == [1, 1, 1] and y._version == 1 and y.is_leaf and not y.requires_grad


def test_a_failing_shape_is_an_error_of_aten():
    with pytest.raises(ValueError, match="must match the size"):
        run("mul", torch.ones(3), torch.ones(4))


def test_profilers_see_the_operation():
    x = compatgrad.Variable(torch.ones(3))
    with torch.profiler.profile() as p:
        compatgrad.grad([x * x], [x], [torch.ones(3)])
    assert "aten::mul" in {e.key for e in p.key_averages()}


def test_a_trace_has_the_operation():
    def f(t):
        x = compatgrad.Variable(t)
        (g,) = compatgrad.grad([x * x * 2.0], [x])
        return g.tensor

    graph = make_fx(f)(torch.ones(3))
    assert "aten.mul" in graph.code
    assert graph(torch.full((3,), 5.0)).tolist() == [20.0] * 3


def test_in_inference_mode():
    with torch.inference_mode():
        x = torch.ones(3)
        assert run("mul", x, x).is_inference() == (x * x).is_inference()


# ---- joins and means ----


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64])
@pytest.mark.parametrize("shape", [(1,), (3, 4), (2, 3, 4), (4, 0), (60, 150)])
def test_joins_and_their_gradients(dtype, shape):
    torch.manual_seed(0)
    for axis in range(-len(shape), len(shape)):
        xs = [(torch.randn(shape) * 9).to(dtype), odd_numbers(shape, torch.float64).nan_to_num(0, 9, -9).to(dtype)]
        xs.append(torch.stack([xs[0], xs[1]], -1)[..., 1])  # not in C order
        wanted = dtype.is_floating_point
        inputs = [compatgrad.Variable(x, requires_grad=wanted) for x in xs]
        y = _C.op("concat")(inputs, axis=axis)
        same_bits(y.tensor, torch.cat(xs, axis))
        assert not any(y.tensor.data_ptr() == x.data_ptr() for x in xs if x.numel())
        stacked = _C.op("stack")(inputs[:2], axis=axis)
        same_bits(stacked.tensor, torch.stack(xs[:2], axis))
        if not wanted:
            continue
        gy, gz = torch.randn(y.tensor.shape).to(dtype), torch.randn(stacked.tensor.shape).to(dtype)
        ends = np.cumsum([x.shape[axis] for x in xs[:-1]]).tolist()
        for g, part in zip(compatgrad.grad([y], inputs, [gy]), torch.tensor_split(gy, ends, axis), strict=True):
            same_bits(g.tensor, part)
        for g, part in zip(compatgrad.grad([stacked], inputs[:2], [gz]), torch.unbind(gz, axis), strict=True):
            same_bits(g.tensor, part)
        whole, layers = compatgrad.Variable(y.tensor), compatgrad.Variable(stacked.tensor)
        parts = _C.op("split")(whole, indices=ends, axis=axis)
        slices = _C.op("unstack")(layers, axis=axis)
        for x, outputs, join in ((whole, parts, torch.cat), (layers, slices, torch.stack)):
            given = [torch.randn(o.tensor.shape).to(dtype) for o in outputs]
            (g,) = compatgrad.grad(list(outputs), [x], given)
            same_bits(g.tensor, join(given, axis))


SLOPES = {"sigmoid_grad": torch.ops.aten.sigmoid_backward, "tanh_grad": torch.ops.aten.tanh_backward}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("shape", [(1,), (9,), (3, 0, 2), (33, 40), (8193,)])
def test_slopes_of_gates(dtype, shape):
    torch.manual_seed(0)
    g, y = torch.randn(shape).to(dtype), (torch.rand(shape) * 0.9).to(dtype)
    for name, f in SLOPES.items():
        unit = 16 * torch.finfo(dtype).eps  # ATen does not round y * y
        torch.testing.assert_close(run(name, g, y), f(g, y), rtol=unit, atol=unit)
        torch.testing.assert_close(run(name, odd_numbers(shape, dtype), y), f(odd_numbers(shape, dtype), y), rtol=unit,
                                   atol=unit, equal_nan=True)  # fmt: skip


@pytest.mark.parametrize("layout", ["in C order", "turned"])
def test_parts_are_views_as_those_of_aten(layout):
    x = torch.randn(4, 5, 6)[1:]
    if layout == "turned":
        x = x.transpose(0, 2)
    for axis in range(-3, 3):
        ends = [0, 1, 1, 2]
        for ys, expected in (
            (_C.op("split")(x, indices=ends, axis=axis), torch.tensor_split(x, ends, axis)),
            (_C.op("unstack")(x, axis=axis), torch.unbind(x, axis)),
        ):
            assert len(ys) == len(expected)
            for y, e in zip(ys, expected, strict=True):
                same_bits(y.tensor, e)
                assert y.tensor.stride() == e.stride() and y.tensor.data_ptr() == e.data_ptr()
                assert y.tensor.numel() == 0 or y.tensor.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    with pytest.raises(IndexError):
        _C.op("unstack")(x, axis=3)


def test_a_gradient_of_gradients_of_joins():
    xs = [compatgrad.Variable(torch.randn(3, n)) for n in (2, 5)]
    gy = compatgrad.Variable(torch.randn(3, 7))
    gradients = compatgrad.grad([_C.op("concat")(xs, axis=1)], xs, [gy], enable_double_backprop=True)
    (g,) = compatgrad.grad([_C.op("sum")(x * x) for x in gradients], [gy])
    same_bits(g.tensor, 2 * gy.tensor)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (90, 91)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_means(shape, keepdims):
    x = torch.randn(shape)
    every = tuple(range(len(shape)))
    for axis in (None, every, tuple(a - len(shape) for a in every), every[1:]):
        if axis == ():
            continue
        v = compatgrad.Variable(x)
        y = _C.op("mean")(v, axis=axis, keepdims=keepdims)
        leaf = x.clone().requires_grad_()
        expected = leaf.mean(dim=every if axis is None else axis, keepdim=keepdims)
        torch.testing.assert_close(y.tensor, expected.detach(), rtol=1e-6, atol=1e-6)
        gy = torch.randn(expected.shape)
        (g,) = compatgrad.grad([y], [v], [gy])
        torch.testing.assert_close(g.tensor, torch.autograd.grad(expected, leaf, gy)[0], rtol=1e-6, atol=1e-6)


def test_means_of_sums_that_are_not_finite():
    inf, nan = float("inf"), float("nan")
    for values in ([3e38] * 4, [nan, 1.0], [inf, -inf], [inf, 1.0], []):
        x = torch.tensor(values)
        same_bits(run("mean", x), x.mean())


def test_profilers_see_joins_and_means():
    with torch.profiler.profile() as p:
        xs = [torch.ones(2, 3)] * 2
        _C.op("mean")(_C.op("concat")([_C.Variable(x, requires_grad=False) for x in xs], axis=1))
    assert {"aten::cat", "aten::mean"} <= {e.key for e in p.key_averages()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3), (0, 3), (40, 20), (3, 2, 2, 2)])
@pytest.mark.parametrize("reps", [(), (1,), (3,), (1, 1), (2, 1), (2, 3), (2, 1, 2), (1, 3, 1, 1), (0, 2), (50, 1)])
def test_tiles(shape, reps, dtype):
    x = torch.randn(shape).to(dtype)
    for t in (x, x.transpose(-1, -2) if x.dim() > 1 else x.expand(shape)):
        same_bits(run("tile", t, reps=reps), torch.tile(t, reps))


@pytest.mark.parametrize("shape", [(4,), (3, 2), (1, 5, 2)])
def test_both_ways_to_one_hot_arrays(shape):
    """A loop over integers in C order, and functions of torch."""
    torch.manual_seed(0)
    rows = torch.stack([torch.randint(-n - 1, n + 1, (5, 7)) for n in shape], -1)
    strided = rows.transpose(0, 1).contiguous().transpose(0, 1)
    found = run("one_hot", rows, shape=shape)
    assert 0 < found.sum() < 35
    same_bits(found, run("one_hot", strided, shape=shape))
    same_bits(found, run("one_hot", rows.int(), shape=shape))
