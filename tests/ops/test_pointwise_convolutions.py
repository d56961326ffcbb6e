"""Convolutions with filters of one pixel or along one axis through the ops (csrc/kernels/pointwise.h)."""

import pytest
import torch

import compatgrad
from compatgrad import ops
from tests.ops.convolution_checks import (
    check_any_number_of_threads,
    check_gradient_in_the_memory_of_the_other,
    check_to_the_second_order,
    check_trace,
    functions,
    laid_out,
)

POINTWISE = torch.backends.cpu.get_cpu_capability() == "AVX512"
AXES = {1: [90], 2: [11, 7], 3: [4, 5, 4]}


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "sliced"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("n, channels, out", [(3, 24, 17), (1, 16, 32), (8, 33, 9)])
def test_to_the_second_order(n, channels, out, axes, transposed, layout):
    if layout == "channels last" and axes != 2:
        layout = "contiguous"
    torch.manual_seed(0)
    x, one = laid_out((n, channels, *AXES[axes]), layout), [1] * axes
    w = laid_out((channels, out, *one) if transposed else (out, channels, *one), layout) / channels**0.5
    b = torch.randn(out)
    op = ops.deconvolution if transposed else ops.convolution
    check_to_the_second_order(op, x, w, b)
    if POINTWISE:
        v, u = (compatgrad.Variable(t, requires_grad=True) for t in (x, w))
        assert not functions(lambda: compatgrad.backward(ops.sum(op(v, u))))


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "sliced"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    "size, stride",
    [((11, 14), [2, 3]), ((12, 7), [1, 2]), ((12, 7), [3, 1]), ((9, 9), [4, 4]), ((4, 5, 6), [1, 2, 3])],
)
def test_strides_to_the_second_order(size, stride, transposed, layout):
    """Pixels that no filter meets are those of the bias, or have no gradient."""
    if layout == "channels last" and len(size) != 2:
        layout = "contiguous"
    torch.manual_seed(0)
    n, channels, out, one = 5, 24, 17, [1] * len(size)
    places = [(a - 1) // s + 1 for a, s in zip(size, stride, strict=True)]
    x = laid_out((n, channels, *(places if transposed else size)), layout)
    w = laid_out((channels, out, *one) if transposed else (out, channels, *one), layout) / channels**0.5
    b = torch.randn(out)
    more = {"outsize": size} if transposed else {}
    op = ops.deconvolution if transposed else ops.convolution
    check_to_the_second_order(lambda x, w, b: op(x, w, b, stride=stride, **more), x, w, b)
    conv = getattr(torch, f"conv{'_transpose' * transposed}{len(size)}d")
    more = {"output_padding": [(a - 1) % s for a, s in zip(size, stride, strict=True)]} if transposed else {}
    y = op(x, w, b, stride=stride, **({"outsize": size} if transposed else {})).tensor
    torch.testing.assert_close(y, conv(x, w, b, stride=stride, **more), rtol=1e-4, atol=1e-4)
    if POINTWISE:
        v, u = (compatgrad.Variable(t, requires_grad=True) for t in (x, w))
        assert not functions(lambda: compatgrad.backward(ops.sum(op(v, u, stride=stride))))


@pytest.mark.parametrize("layout", ["contiguous", "sliced"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("taps, pad, dilate", [(2, 4, 4), (3, 1, 1), (2, 0, 7), (1, 3, 1)])
def test_one_axis_to_the_second_order(taps, pad, dilate, transposed, layout):
    torch.manual_seed(0)
    x = laid_out((3, 24, 50), layout)
    w = laid_out((24, 17, taps) if transposed else (17, 24, taps), layout) / (24 * taps) ** 0.5
    b, op = torch.randn(17), ops.deconvolution if transposed else ops.convolution
    check_to_the_second_order(lambda x, w, b: op(x, w, b, pad=[pad], dilate=[dilate]), x, w, b)
    if POINTWISE:
        v, u = (compatgrad.Variable(t, requires_grad=True) for t in (x, w))
        assert not functions(lambda: compatgrad.backward(ops.sum(op(v, u, pad=[pad], dilate=[dilate]))))


@pytest.mark.parametrize(
    "why, change",
    {
        "double": {"dtype": torch.float64},
        "half": {"dtype": torch.bfloat16},
        "stride of a larger filter": {"filters": (1, 2), "stride": [2, 1]},
        "padding": {"pad": [0, 1]},
        "groups": {"groups": 2},
        "other filter": {"filters": (1, 2)},
        "few channels": {"channels": 6},
        "few places": {"size": (2, 2)},
        "long filter": {"size": (100,), "filters": (5,)},
        "stride on one axis": {"size": (100,), "filters": (2,), "stride": [2]},
    }.items(),
)
def test_others_go_to_other_functions(why, change):
    change = dict(change)
    channels, dtype = change.pop("channels", 32), change.pop("dtype", torch.float32)
    x = torch.randn(4, channels, *change.pop("size", (24, 24))).to(dtype)
    w = torch.randn(32, channels // change.get("groups", 1), *change.pop("filters", (1, 1))).to(dtype)
    y = []
    assert functions(lambda: y.append(ops.convolution(compatgrad.Variable(x), compatgrad.Variable(w), **change)))
    names = {"stride": "stride", "pad": "padding", "groups": "groups"}
    conv = torch.conv2d if x.dim() == 4 else torch.conv1d
    expected = conv(x, w, **{names[k]: v for k, v in change.items()})
    torch.testing.assert_close(y[0].tensor, expected, rtol=1e-4, atol=1e-3)


def test_positions_beyond_the_image_are_zeros():
    x, w, b = torch.randn(4, 16, 6, 7), torch.randn(24, 16, 1, 1), torch.randn(24)
    y = ops.convolution(*map(compatgrad.Variable, (x, w, b)), outsize=[7, 9]).tensor
    torch.testing.assert_close(y, torch.conv2d(torch.nn.functional.pad(x, (0, 2, 0, 1)), w, b))


@pytest.mark.parametrize("size", [(30, 31), (3, 3)])
def test_any_number_of_threads(size):
    torch.manual_seed(1)
    x, w, gy = torch.randn(6, 40, *size), torch.randn(48, 40, 1, 1), torch.randn(6, 48, *size)
    check_any_number_of_threads(ops.convolution, x, w, gy)


@pytest.mark.parametrize("batch", [1, 5])
def test_gradient_in_the_memory_of_the_other(batch):
    """With equal sizes the image's gradient overwrites the result's, which nobody else holds."""
    torch.manual_seed(2)
    x, w = torch.randn(batch, 32, 16, 16), torch.randn(32, 32, 1, 1) / 6
    check_gradient_in_the_memory_of_the_other(ops.convolution, x, w)


def test_strides_with_any_number_of_threads():
    torch.manual_seed(1)
    x, w, gy = torch.randn(6, 140, 9, 8), torch.randn(48, 140, 1, 1), torch.randn(6, 48, 5, 4)
    check_any_number_of_threads(lambda x, w: ops.convolution(x, w, stride=[2]), x, w, gy)


def test_a_plan_is_traced_with_aten():
    check_trace(ops.convolution, torch.randn(2, 16, 16, 16), torch.randn(16, 16, 1, 1))


def test_wrong_inputs_raise():
    x = compatgrad.Variable(torch.randn(4, 16, 8, 8))
    with pytest.raises((RuntimeError, ValueError)):
        ops.convolution(x, compatgrad.Variable(torch.randn(24, 17, 1, 1)))
    with pytest.raises((RuntimeError, ValueError)):
        ops.convolution(x, compatgrad.Variable(torch.randn(24, 16, 1, 1)), compatgrad.Variable(torch.randn(23)))
    with pytest.raises((RuntimeError, ValueError)):
        ops.convolution(x, compatgrad.Variable(torch.randn(24, 16, 1)))


@pytest.mark.parametrize("threads", [2, 3])
def test_deterministic_algorithms_have_memory_for_each_thread(threads):
    """torch then says that it has one thread, while the loops keep theirs: the second wrote behind its memory."""
    torch.manual_seed(0)
    x, w, before = torch.randn(8, 64, 28, 28), torch.randn(128, 64, 1, 1), torch.get_num_threads()
    expected = ops.convolution(x, w).tensor
    try:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(True)
        for _ in range(5):
            assert torch.equal(ops.convolution(x, w).tensor, expected)
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(before)
