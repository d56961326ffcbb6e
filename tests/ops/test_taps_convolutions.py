"""Convolutions of batches through the ops, which compute them by csrc/kernels/taps.h where no faster way exists."""

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import ops
from tests.ops.convolution_checks import (
    check_any_number_of_threads,
    check_to_the_second_order,
    check_trace,
    functions,
    laid_out,
)

TAPS = torch.backends.cpu.get_cpu_capability() == "AVX512"
# images, channels, channels of the result, height, width, filter, stride, pad, dilation
SIZES = [
    (12, 400, 336, 2, 2, (3, 3), (1, 1), (1, 1), (1, 1)),
    (9, 40, 33, 16, 15, (3, 3), (2, 2), (1, 1), (1, 1)),
    (13, 64, 96, 18, 20, (1, 1), (2, 2), (0, 0), (1, 1)),
    (10, 37, 64, 16, 16, (2, 2), (2, 2), (0, 0), (1, 1)),
    (8, 32, 40, 62, 60, (3, 3), (2, 2), (1, 1), (1, 1)),  # several parts
    (12, 48, 49, 13, 14, (5, 3), (1, 3), (4, 0), (2, 1)),
    (8, 20, 130, 15, 17, (5, 5), (3, 2), (0, 2), (1, 2)),  # numbers of a filter beyond 16, rows that no filter meets
]


def options(sizes):
    return dict(zip(("stride", "pad", "dilate"), map(list, sizes[6:]), strict=True))


def arrays(sizes, layout="contiguous"):
    """The image, the filters and the shape of the map."""
    torch.manual_seed(0)
    n, channels, out, height, width, (rows, columns), stride, pad, dilate = sizes
    x = laid_out((n, channels, height, width), layout)
    w = laid_out((out, channels, rows, columns), layout) / (channels * rows * columns) ** 0.5
    return x, w, torch.conv2d(x, w, None, stride, pad, dilate).shape


def gradients(x, w, gy, placement):
    """The map, and the gradients of the image and of the filters."""
    leaves = [compatgrad.Variable(t, requires_grad=True) for t in (x, w)]
    y = ops.convolution(*leaves, **placement)
    return [y.tensor, *(g.tensor for g in compatgrad.grad([y], leaves, [compatgrad.Variable(gy)]))]


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "sliced"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_to_the_second_order(sizes, transposed, layout):
    x, w, shape = arrays(sizes, layout)
    placement = options(sizes)
    if transposed:
        placement["outsize"] = list(x.shape[2:])
        x = laid_out(shape, layout)
    b = torch.randn(w.shape[1] if transposed else w.shape[0])
    op = ops.deconvolution if transposed else ops.convolution
    check_to_the_second_order(lambda x, w, b: op(x, w, b, **placement), x, w, b)
    if TAPS and not transposed:
        v, u = (compatgrad.Variable(t, requires_grad=True) for t in (x, w))
        assert not functions(lambda: compatgrad.backward(ops.sum(ops.convolution(v, u, **placement))))


@pytest.mark.skipif(not TAPS, reason="the processor has no AVX-512")
@pytest.mark.parametrize("what, meets", [("image", (0, 2)), ("filter", (0, 1)), ("map", (1, 2))])
@pytest.mark.parametrize("sizes", SIZES[:3])
def test_not_a_number_reaches_what_meets_it(sizes, what, meets):
    """No zero beyond an image meets a NaN. `meets`: which of the map and the two gradients read the dirty array."""
    x, w, shape = arrays(sizes)
    clean = {"image": x, "filter": w, "map": torch.randn(shape)}
    expected = gradients(*clean.values(), options(sizes))
    for place in ((0, 0), (-1, -1)):
        dirty = {**clean, what: clean[what].clone()}
        dirty[what][(1, 2, *place)] = float("nan")
        ones = {name: torch.ones(t.shape, dtype=torch.float64) for name, t in clean.items()}
        ones[what].zero_()[(1, 2, *place)] = 1
        reached = [r > 0 for r in gradients(*ones.values(), options(sizes))]
        for k, found in enumerate(gradients(*dirty.values(), options(sizes))):
            meeting = reached[k] if k in meets else torch.zeros_like(reached[k])
            assert torch.equal(found.isnan(), meeting)
            assert torch.equal(found[~meeting], expected[k][~meeting])


@pytest.mark.parametrize("sizes", [SIZES[0], SIZES[4]])
def test_any_number_of_threads(sizes):
    x, w, shape = arrays(sizes)
    check_any_number_of_threads(lambda x, w: ops.convolution(x, w, **options(sizes)), x, w, torch.randn(shape))


def test_a_plan_is_traced_with_aten():
    check_trace(
        lambda x, w: ops.convolution(x, w, stride=[2, 2]), torch.randn(8, 32, 16, 16), torch.randn(64, 32, 3, 3)
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_shapes(seed):
    r = np.random.RandomState(seed)
    sizes = (
        *(int(r.randint(*limits)) for limits in ((8, 20), (16, 70), (16, 70), (7, 20), (7, 20))),
        *(tuple(int(k) for k in r.randint(*limits, 2)) for limits in ((1, 5), (1, 4), (0, 3), (1, 3))),
    )
    x, w, shape = arrays(sizes)
    gy = torch.randn(shape)
    exact = gradients(x.double(), w.double(), gy.double(), options(sizes))
    for f, e in zip(gradients(x, w, gy, options(sizes)), exact, strict=True):
        torch.testing.assert_close(f.double(), e, rtol=1e-4, atol=3e-5 * float(e.abs().max()))
