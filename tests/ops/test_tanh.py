"""tanh of floats in main memory, which has a loop of its own."""

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import ops


def tanh(x):
    return ops.tanh(compatgrad.Variable(x)).tensor


def test_accuracy():
    """Three units in the last place, over the whole range."""
    x = torch.cat(
        [torch.linspace(-12, 12, 300_001), torch.logspace(-37, 1.5, 100_000), -torch.logspace(-37, 1.5, 1_000)]
    )
    exact = np.tanh(x.double().numpy())
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    assert torch.equal(tanh(-x), -tanh(x))
    assert float((np.abs(tanh(x).double().numpy() - exact) / unit).max()) <= 3


def test_special_values():
    x = torch.tensor([0.0, -0.0, np.inf, -np.inf, 1e30, -1e30, 1e-45, -1e-45, 44.0, 88.0, -89.0, np.nan])
    y = tanh(x)
    assert bool(y[-1].isnan())
    assert torch.equal(y[:-1], torch.tanh(x[:-1]))
    assert torch.equal(y[:-1].signbit(), x[:-1].signbit())


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t,
        lambda t: t.transpose(0, 2),
        lambda t: t[:, 1:4, ::2],
        lambda t: t[:, :, :1].expand(-1, -1, 5),
        lambda t: t[:0],
        lambda t: t[0, 0, 0],
        lambda t: t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t.flip(0),
    ],
)
def test_layouts(view):
    x = torch.randn(6, 7, 9)
    before = x.clone()
    torch.testing.assert_close(tanh(view(x)), torch.tanh(view(x)), rtol=4e-7, atol=0)
    assert torch.equal(x, before)


def test_threads():
    x, before = torch.randn(300_000), torch.get_num_threads()
    try:
        results = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results.append(tanh(x))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*results)
