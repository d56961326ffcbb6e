"""Convolutions with filters of 3 x 3 and stride 1 through the ops, which compute them by csrc/kernels/winograd.h."""

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

WINOGRAD = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "sliced"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("pad", [0, 1, 2])
@pytest.mark.parametrize(
    "n, channels, out, height, width", [(3, 24, 17, 19, 18), (2, 16, 32, 16, 23), (8, 33, 16, 15, 16)]
)
def test_to_the_second_order(n, channels, out, height, width, pad, transposed, layout):
    torch.manual_seed(0)
    x = laid_out((n, channels, height, width), layout)
    w = laid_out((channels, out, 3, 3) if transposed else (out, channels, 3, 3), layout) / channels**0.5
    b = torch.randn(out)
    op = ops.deconvolution if transposed else ops.convolution
    check_to_the_second_order(lambda x, w, b: op(x, w, b, pad=[pad, pad]), x, w, b)
    if WINOGRAD and not transposed:
        v, u = compatgrad.Variable(x), compatgrad.Variable(w)
        assert not functions(lambda: compatgrad.backward(ops.sum(ops.convolution(v, u, pad=[pad, pad]))))


@pytest.mark.skipif(not WINOGRAD, reason="the processor has no AVX2")
@pytest.mark.parametrize(
    "why, change",
    {
        "double": {"dtype": torch.float64},
        "half": {"dtype": torch.bfloat16},
        "stride": {"stride": [2, 1]},
        "dilation": {"dilate": [1, 2]},
        "groups": {"groups": 2},
        "other filter": {"filters": (3, 1)},
        "few channels": {"channels": 8},
        "one row": {"size": (1, 576)},
        "more padding than the filter": {"pad": [3, 1]},
    }.items(),
)
def test_others_go_to_aten(why, change):
    change = dict(change)
    channels, dtype = change.pop("channels", 32), change.pop("dtype", torch.float32)
    filters, pad = change.pop("filters", (3, 3)), change.pop("pad", [1, 1])
    x = torch.randn(4, channels, *change.pop("size", (24, 24))).to(dtype)
    w = torch.randn(32, channels // change.get("groups", 1), *filters).to(dtype)
    y = []
    assert functions(
        lambda: y.append(ops.convolution(compatgrad.Variable(x), compatgrad.Variable(w), pad=pad, **change))
    )
    names = {"stride": "stride", "dilate": "dilation", "groups": "groups"}
    options = {names[k]: v for k, v in change.items()}
    expected = torch.conv2d(x, w, padding=pad, **options)
    assert torch.equal(y[0].tensor, expected) or torch.allclose(y[0].tensor, expected, rtol=1e-4, atol=1e-3)


def test_any_number_of_threads():
    torch.manual_seed(1)
    x, w, gy = torch.randn(6, 40, 30, 31), torch.randn(48, 40, 3, 3), torch.randn(6, 48, 30, 31)
    check_any_number_of_threads(lambda x, w: ops.convolution(x, w, pad=[1, 1]), x, w, gy)


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_gradient_in_the_memory_of_the_other(batch):
    """With equal sizes the image's gradient overwrites the result's, which nobody else holds."""
    torch.manual_seed(2)
    x, w = torch.randn(batch, 32, 16, 16), torch.randn(32, 32, 3, 3) / 17
    check_gradient_in_the_memory_of_the_other(lambda x, w: ops.convolution(x, w, pad=[1, 1]), x, w)


def test_a_plan_is_traced_with_aten():
    check_trace(lambda x, w: ops.convolution(x, w, pad=[1, 1]), torch.randn(2, 16, 16, 16), torch.randn(16, 16, 3, 3))


@pytest.mark.parametrize("shape", [(16, 1), (4, 4), (1, 16)])
def test_bias_that_is_no_vector(shape):
    x, w = torch.randn(2, 16, 12, 12), torch.randn(16, 16, 3, 3)
    for op in (ops.convolution, ops.deconvolution):
        with pytest.raises((ValueError, RuntimeError)):
            op(x, w, torch.ones(shape), pad=[1, 1])


@pytest.mark.parametrize("place", [(0, 0), (0, 5), (11, 0), (5, 11), (6, 6)])
def test_not_a_number_in_an_image_reaches_the_elements_of_the_filter_that_meet_it(place):
    torch.manual_seed(3)
    x, w = torch.randn(4, 16, 12, 12), torch.randn(16, 16, 3, 3)
    x[1, 2, place[0], place[1]] = float("nan")

    y = torch.nn.functional.conv2d(x, w)
    y[y.isnan()] = 1.0  # so that only the image has them
    found = compatgrad.grad(
        [ops.convolution(x, v := compatgrad.Variable(w, requires_grad=True))], [v], [compatgrad.Variable(y)]
    )[0].tensor
    exact = torch.nn.grad.conv2d_weight(x.double(), w.shape, y.double())
    assert exact.isnan().any()
    assert torch.equal(found.isnan(), exact.isnan())
    finite = ~exact.isnan()
    torch.testing.assert_close(found[finite].double(), exact[finite], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("pad", [0, 1, 2])
@pytest.mark.parametrize("place", [(0, 0), (1, 2), (2, 1)])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_filter_that_is_not_finite_reaches_its_own_numbers_of_an_image(bad, place, pad):
    """The zeros beyond the map, and numbers of other places of a tile, must not meet the NaN."""
    w, gy = torch.ones(16, 16, 3, 3), torch.ones(2, 16, 10 + 2 * pad, 11 + 2 * pad)
    w[(3, 2, *place)] = bad
    found = []
    for dtype in (torch.float32, torch.float64):
        x = compatgrad.Variable(torch.zeros(2, 16, 12, 13, dtype=dtype), requires_grad=True)
        y = ops.convolution(x, compatgrad.Variable(w.to(dtype)), pad=[pad, pad])
        (g,) = compatgrad.grad([y], [x], [compatgrad.Variable(gy.to(dtype))])
        found.append(g.tensor.double())
    assert not found[1].isfinite().all()
    torch.testing.assert_close(*found, equal_nan=True)
