"""tanh and sigmoid of floats in main memory, which have loops of their own."""

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


def gelu(x):
    return ops.gelu(x, approximate=True)


def exact_gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def test_gelu_by_tanh():
    x = torch.cat([torch.linspace(-12, 12, 300_001), torch.logspace(-30, 8, 1_000), -torch.logspace(-30, 8, 1_000)])
    gy = torch.randn(x.shape)
    wide = x.double().requires_grad_()
    y = exact_gelu(wide)
    (slope,) = torch.autograd.grad(y, wide, gy.double())
    v = compatgrad.Variable(x, requires_grad=True)
    found = gelu(v)
    (g,) = compatgrad.grad([found], [v], [compatgrad.Variable(gy)])
    for a, b in ((found.tensor, y.detach()), (g.tensor, slope)):
        limit = 4e-7 * x.double().abs().clamp(min=1e-3) + 4e-7 * b.abs()
        assert bool(((a.double() - b).abs() <= limit * gy.double().abs().clamp(min=1)).all())


@pytest.mark.parametrize("view", [lambda t: t, lambda t: t.t(), lambda t: t[:, 1::2], lambda t: t[:0]])
def test_second_derivatives_of_gelu_by_tanh(view):
    x, gy = torch.randn(40, 30), torch.randn(40, 30)
    wide, other = (view(t).double().contiguous().requires_grad_() for t in (x, gy))
    (first,) = torch.autograd.grad((exact_gelu(wide) * other).sum(), wide, create_graph=True)
    expected = [first.detach(), *torch.autograd.grad((first * first).sum(), [wide, other])]
    a, b = (compatgrad.Variable(view(t), requires_grad=True) for t in (x, gy))
    (g,) = compatgrad.grad([ops.sum(gelu(a) * b)], [a], enable_double_backprop=True)
    for found, e in zip([g, *compatgrad.grad([ops.sum(g * g)], [a, b])], expected, strict=True):
        torch.testing.assert_close(found.tensor.double(), e, rtol=1e-4, atol=1e-5)


def test_special_values_of_gelu_by_tanh():
    x = torch.tensor([0.0, -0.0, np.inf, -np.inf, 1e30, -1e30, 1e-45, 44.0, -44.0, np.nan])
    torch.testing.assert_close(gelu(compatgrad.Variable(x)).tensor, exact_gelu(x), equal_nan=True, rtol=0, atol=0)


def sigmoid(x):
    return ops.sigmoid(compatgrad.Variable(x)).tensor


def test_accuracy_of_sigmoid():
    """Four units in the last place, over the whole range."""
    x = torch.cat(
        [torch.linspace(-87, 30, 400_001), torch.logspace(-37, 1.4, 10_000), -torch.logspace(-37, 1.9, 10_000)]
    )
    exact = 1 / (1 + np.exp(-x.double().numpy()))
    unit = np.spacing(exact.astype(np.float32)).astype(np.float64)
    assert float((np.abs(sigmoid(x).double().numpy() - exact) / unit).max()) <= 4


def test_special_values_of_sigmoid():
    x = torch.tensor([0.0, -0.0, np.inf, -np.inf, 1e30, -1e30, 1e-45, 89.0, -120.0, np.nan])
    y = sigmoid(x)
    assert bool(y[-1].isnan())
    assert torch.equal(y[:-1], torch.sigmoid(x[:-1]))
    assert sigmoid(x.double()).dtype == torch.float64


@pytest.mark.parametrize("f, expected", [(tanh, torch.tanh), (sigmoid, torch.sigmoid)])
@pytest.mark.parametrize("size", [(5, 40), (1, 16), (3, 15), (0, 20), (200, 900)])
def test_rows_of_a_wider_matrix(f, expected, size):
    """Such as the gates of an LSTM: each row is computed where it is."""
    wide = torch.randn(size[0], size[1] + 3)
    x = wide[:, 2 : 2 + size[1]]
    before = wide.clone()
    y = f(x)
    assert y.shape == size and y.is_contiguous() and torch.equal(wide, before)
    torch.testing.assert_close(y, expected(x), rtol=5e-7, atol=0)
    assert torch.equal(y, f(x.contiguous()))
