"""Deformable convolution's columns, their transpose and the factors' gradients against float64."""

import numpy as np
import pytest
import torch

from tests import deform_reference as reference
from tests.kernels.places import Place, unharmed

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
EPS = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-5, torch.float64: 1e-12}
# images, places, kernel, groups, stride, pad, dilation, clamp, orders
CASES = [
    ((2, 6, 7, 9), (5, 17), (3, 2), 2, (2, 1), (1, 2), (1, 3), 0, (0,)),
    ((1, 3, 4, 5), (9, 15), (2, 2), 1, (1, 1), (0, 0), (1, 1), 1, (0, 1, 2, 3)),
    ((1, 20, 1, 1), (1, 1), (1, 1), 1, (1, 1), (0, 0), (1, 1), 0, (2, 0)),
    ((2, 2, 3, 3), (0, 4), (2, 2), 1, (1, 1), (0, 0), (1, 1), 0, (0,)),
    ((0, 2, 3, 3), (2, 4), (2, 2), 2, (1, 1), (0, 0), (1, 1), 0, (0, 3)),
]


def integers(x, out, kernel, groups, stride, pad, dilate, clamp, orders, together, whole):
    border = 2 if clamp else 0
    return [*x, groups, *kernel, *out, *stride, *pad, *dilate, border, len(orders), *orders, *[0] * (4 - len(orders)),
            together, int(whole)]  # fmt: skip


def draw(case, dtype):
    x, out, kernel, groups, *_, orders = case
    taps = kernel[0] * kernel[1]
    image = torch.randn(x).to(dtype)
    # multiples of 1/16, which all dtypes hold: the reference reads at the same places
    offset = (torch.randint(-48, 48, (x[0], groups * taps * 2, *out)) / 16).to(dtype)
    factors = torch.randn(x[0], groups * taps * len(orders), *out).to(dtype)
    gy = torch.randn(x[0], x[1] * taps, *out).to(dtype)
    return image, offset, factors, gy


def exact(f, case, *tensors, **more):
    x, out, kernel, groups, stride, pad, dilate, clamp, orders = case
    arrays = [t if t is None else t.double().numpy() for t in tensors]
    return f(*arrays, ksize=kernel, groups=groups, stride=stride, pad=pad, dilate=dilate, clamp=bool(clamp),
             orders=orders, **more)  # fmt: skip


def check(found, expected, dtype, terms):
    np.testing.assert_allclose(
        found.double().cpu(), expected, atol=EPS[dtype] * 4 * max(terms, 1) ** 0.5, rtol=EPS[dtype]
    )
    assert unharmed(found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_columns(place: Place, dtype, case):
    x, offset, factors, gy = draw(case, dtype)
    for given in (factors, None) if case[-1] == (0,) else (factors,):
        expected = exact(reference.columns, case, x, offset, given)
        for whole, together, shift in ((0, 1, 0), (0, 4, 1), (1, 2, 1), (1, 100, 0)):
            y = place.poisoned(gy.shape, dtype, shift)
            operands = [y, place.tensor(x, shift), place.tensor(offset), None if given is None else place.tensor(given)]
            place("deform_columns", operands, (), integers(*case, together, whole))
            check(y, expected, dtype, 4)


def readers(case, offset, factors, wide):
    """Tables of who reads each pixel, from the dense weights of the reference."""
    x, out, kernel, groups, *_ = case
    w = exact(reference.weighted, case, offset, factors, size=x[2:]).sum(3)  # (n, g, t, *out, h, w)
    lists, area, entries = x[0] * groups, x[2] * x[3], kernel[0] * kernel[1] * out[0] * out[1]
    dense = w.reshape(lists, entries, area)
    weights = np.zeros((lists, entries, 4))
    order, starts = np.zeros((lists, 4 * entries)), np.zeros((lists, area + 1))
    for k in range(lists):
        pixels = np.full((entries, 4), area)
        for e in range(entries):
            corners = np.flatnonzero(dense[k, e])
            pixels[e, : len(corners)] = corners
            weights[k, e, : len(corners)] = dense[k, e, corners]
        order[k] = np.argsort(pixels.ravel(), kind="stable")
        starts[k] = np.searchsorted(np.sort(pixels.ravel()), np.arange(area + 1))
    return [torch.tensor(weights).to(wide), *(torch.tensor(t).to(torch.int32) for t in (order, starts))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_columns_grad(place: Place, dtype, case):
    x, offset, factors, gy = draw(case, dtype)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    for given in (factors, None) if case[-1] == (0,) else (factors,):
        expected = exact(reference.columns_grad, case, gy, offset, given, insize=x.shape)
        ways = [(0, 1), (0, 3)] if dtype in DTYPES[:2] else [(0, 1), (0, 3), (1, 1), (1, 3), (1, 100)]
        for whole, together in ways:
            gx = place.poisoned(x.shape, dtype, 1)
            if whole:
                more = [place.tensor(offset), None if given is None else place.tensor(given)]
            else:
                more = [place.tensor(t) for t in readers(case, offset, given, wide)]
            place("deform_columns_grad", [gx, place.tensor(gy, 1), *more], (), integers(*case, together, whole))
            check(gx, expected, dtype, 40)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_factors_grad(place: Place, dtype, case):
    x, offset, factors, gy = draw(case, dtype)
    expected = exact(reference.factors_grad, case, gy, x, offset)
    for whole, shift in ((0, 0), (1, 1)):
        g = place.poisoned(factors.shape, dtype, shift)
        operands = [g, place.tensor(gy, shift), place.tensor(x, shift), place.tensor(offset)]
        place("deform_factors_grad", operands, (), integers(*case, 8, whole))
        check(g, expected, dtype, 4 * x.shape[1])


def test_pixels_without_weight_are_not_read(place: Place):
    """Nor is an offset that is no number."""
    case = ((1, 1, 2, 3), (1, 3), (1, 1), 1, (1, 1), (0, 0), (1, 1), 0, (0,))
    x = torch.tensor([[[[1.0, 2.0, float("inf")], [4.0, float("nan"), 6.0]]]])
    offset = torch.zeros(1, 2, 1, 3)
    offset[0, 1, 0, 2] = float("nan")
    for whole in (0, 1):
        y = place.poisoned((1, 1, 1, 3), torch.float32)
        operands = [y, place.tensor(x), place.tensor(offset), None]
        place("deform_columns", operands, (), integers(*case, 1, whole))
        assert y.flatten().tolist() == [1.0, 2.0, 0.0]


def test_what_the_kernels_do_not_take(place: Place):
    case = ((1, 2, 3, 3), (2, 2), (1, 1), 1, (1, 1), (0, 0), (1, 1), 0, (0,))
    x, offset, factors, gy = (place.tensor(t) for t in draw(case, torch.float32))
    good = integers(*case, 1, 1)

    def refused(kernel, operands, numbers):
        with pytest.raises(ValueError, match=f"{kernel}: the kernel does not take"):
            place(kernel, operands, (), numbers)

    refused("deform_columns", [gy, x, offset, None], good[:-1])
    refused("deform_columns", [gy, x, factors, None], good)
    refused("deform_columns", [gy, x, offset], good)
    for place_of, value in ((4, 0), (4, 3), (16, 5), (17, 4), (21, 0)):
        refused("deform_columns", [gy, x, offset, factors], [*good[:place_of], value, *good[place_of + 1 :]])
    refused("deform_columns", [gy, x, offset, None], integers(*case[:-1], (0, 1), 1, 1))
    half = [t.half() for t in (x, gy, offset)]
    refused("deform_columns_grad", [*half, None], good)
    refused("deform_factors_grad", [factors, gy, x, factors], good)
