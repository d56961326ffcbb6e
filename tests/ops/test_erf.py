"""erf of floats in main memory, which has a loop of its own, as has its gradient."""

import math

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import ops

exact = np.vectorize(math.erf)


def erf(x):
    return ops.erf(compatgrad.Variable(x)).tensor


def gradient(x, gy):
    v = compatgrad.Variable(x)
    y = ops.erf(v)
    return compatgrad.grad([y], [v], [compatgrad.Variable(gy)])[0].tensor


def test_accuracy():
    """Two units in the last place, over the whole range and around the border of the two polynomials."""
    ranges = [torch.linspace(-5, 5, 30_001), torch.logspace(-37, 1, 10_000), torch.linspace(0.99, 1.01, 5_000)]
    x = torch.cat(ranges)
    want = exact(x.double().numpy())
    unit = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    assert torch.equal(erf(-x), -erf(x))
    assert float((np.abs(erf(x).double().numpy() - want) / unit).max()) <= 2


def test_special_values():
    x = torch.tensor([0.0, -0.0, np.inf, -np.inf, 1e30, -1e30, 1e-45, -1e-45, 4.0, -4.0, 3.99, np.nan])
    y = erf(x)
    assert bool(y[-1].isnan())
    torch.testing.assert_close(y[:-1], torch.erf(x[:-1]), rtol=2e-7, atol=2e-45)
    assert torch.equal(y[:-1].signbit(), x[:-1].signbit())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "view",
    [
        lambda t: t,
        lambda t: t.transpose(0, 2),
        lambda t: t[:, 1:4, ::2],
        lambda t: t[:, :, :1].expand(-1, -1, 5),
        lambda t: t[:0],
        lambda t: t[0, 0, 0],
        lambda t: t.flip(0),
    ],
)
def test_layouts(view, dtype):
    x = torch.randn(6, 7, 9, dtype=dtype)
    before = x.clone()
    gy = torch.randn_like(view(x))
    tolerance = {"rtol": 5e-7, "atol": 1e-37} if dtype == torch.float32 else {"rtol": 1e-14, "atol": 1e-300}
    torch.testing.assert_close(erf(view(x)), torch.erf(view(x)), **tolerance)
    want = gy.double() * torch.exp(-(view(x).double() ** 2)) * 2 / math.sqrt(math.pi)
    torch.testing.assert_close(
        gradient(view(x), gy), want.to(dtype), **tolerance | {"rtol": 2e-6 if dtype == torch.float32 else 1e-13}
    )
    assert torch.equal(x, before)


def test_gradients_of_special_values():
    x = torch.tensor([0.0, np.inf, -np.inf, np.nan, 20.0])
    g = gradient(x, torch.ones(5))
    torch.testing.assert_close(g, torch.tensor([2 / math.sqrt(math.pi), 0, 0, np.nan, 0]), equal_nan=True)
    assert bool(gradient(torch.zeros(1), torch.full((1,), np.nan)).isnan())


def test_a_gradient_that_is_still_needed_stays():
    x = compatgrad.Variable(torch.randn(100_000))
    y = ops.erf(x)
    gy = compatgrad.Variable(torch.ones(100_000))
    compatgrad.grad([y], [x], [gy])
    assert bool((gy.tensor == 1).all())


def test_threads():
    x, before = torch.randn(300_000), torch.get_num_threads()
    try:
        results = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results.append((erf(x), gradient(x, x)))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
