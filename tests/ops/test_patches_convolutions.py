"""Transposed convolutions with filters of 4 x 4 that move by two, of few places or into few channels, through the op,
which computes them by csrc/kernels/patches.h."""

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import ops
from tests.ops.convolution_checks import functions, laid_out

PATCHES = torch.backends.cpu.get_cpu_capability() == "AVX512"


def transposed(x, w, b=None, **options):
    arrays = [t if t is None else compatgrad.Variable(t) for t in (x, w, b)]
    return ops.deconvolution(*arrays, stride=[2, 2], **options).tensor


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "sliced"])
@pytest.mark.parametrize("pad", [[0, 0], [1, 1], [2, 3], [3, 0]])
@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize(
    "n, channels, out, height, width",
    [
        (1, 70, 130, 4, 4),
        (1, 150, 40, 8, 8),
        (2, 64, 33, 3, 5),
        (1, 16, 1, 2, 2),
        (3, 17, 3, 33, 35),
        (2, 40, 4, 16, 3),
    ],
)
def test_shapes(n, channels, out, height, width, beyond, pad, layout):
    torch.manual_seed(0)
    size = [2 * length + 2 - 2 * p + beyond for length, p in zip((height, width), pad, strict=True)]
    if min(size) < 1:
        pytest.skip("there is no such image")
    x, w, b = laid_out((n, channels, height, width), layout), laid_out((channels, out, 4, 4), layout), torch.randn(out)
    y = transposed(x, w, b, pad=pad, outsize=size)
    expected = torch.conv_transpose2d(x.double(), w.double(), b.double(), 2, pad, beyond)
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-6 * float(expected.abs().max()))
    if PATCHES and layout == "contiguous":
        assert not functions(lambda: transposed(x, w, b, pad=pad, outsize=size))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e38])
@pytest.mark.parametrize("of_filter", [False, True])
@pytest.mark.parametrize("out, side", [(20, 5), (3, 17)])
def test_numbers_reach_only_their_own_results(out, side, of_filter, number):
    torch.manual_seed(0)
    x, w = torch.rand(1, 20, side, side) + 0.5, torch.rand(20, out, 4, 4) + 0.5
    changed = w if of_filter else x
    place = (3, 2, 0, 3) if of_filter else (0, 3, side - 1, 1)
    before = transposed(x, w, pad=[1, 1])
    changed[place] = number
    y = transposed(x, w, pad=[1, 1])
    reached = torch.conv_transpose2d(x.double(), w.double(), None, 2, 1) != torch.conv_transpose2d(
        *(t.double().nan_to_num(0, 0).clamp(max=2) for t in (x, w)), None, 2, 1
    )
    assert reached.any() and not reached.all()
    assert torch.equal(y[~reached], before[~reached])
    assert (y[reached].isnan() if np.isnan(number) else y[reached] > 1e37).all()


@pytest.mark.parametrize("channels, out, side", [(150, 100, 4), (64, 3, 32), (70, 2, 9)])
def test_any_number_of_threads(channels, out, side):
    torch.manual_seed(1)
    x, w = torch.randn(2, channels, side, side), torch.randn(channels, out, 4, 4)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 5):
            torch.set_num_threads(threads)
            results.append(transposed(x, w, pad=[1, 1]))
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        assert torch.equal(result, results[0])


def test_gradients_of_images():
    torch.manual_seed(2)
    x, w, gy = torch.randn(4, 3, 32, 32), torch.randn(48, 3, 4, 4), torch.randn(4, 48, 16, 16)
    v = [compatgrad.Variable(t, requires_grad=True) for t in (x, w)]
    y = ops.convolution(*v, stride=[2, 2], pad=[1, 1])
    found = compatgrad.grad([y], v, [compatgrad.Variable(gy)])
    exact = [t.double().requires_grad_() for t in (x, w)]
    expected = torch.autograd.grad(torch.conv2d(*exact, None, 2, 1), exact, gy.double())
    for f, e in zip(found, expected, strict=True):
        torch.testing.assert_close(f.tensor.double(), e, rtol=1e-4, atol=1e-5 * float(e.abs().max()))
