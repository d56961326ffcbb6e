"""Attention of many rows, which the kernels compute by blocks."""

import pytest
import torch

from compatgrad import _C, Variable
from tests.ops.samples_attention import attention


def heads(*shape, dtype):
    """Heads that lie apart in memory, as a program gets them from one product."""
    batch, count, n, depth = shape
    return torch.randn(batch, n, count, depth, dtype=dtype).transpose(1, 2)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(
    "n, m, mask, causal",
    [
        (300, 300, None, True),
        (270, 1500, (1500,), False),
        (600, 600, (2, 1, 600, 600), False),
        (257, 70, (257, 1), True),
    ],
)
def test_blocks(n, m, mask, causal, dtype):
    torch.manual_seed(0)
    tensors = [heads(2, 3, n, 8, dtype=dtype), heads(2, 3, m, 8, dtype=dtype), heads(2, 3, m, 5, dtype=dtype)]
    if mask:
        tensors.append(torch.randn(*mask, dtype=dtype))
    gy = torch.randn(2, 3, n, 5, dtype=dtype)
    xs = [Variable(t) for t in tensors]
    y = _C.op("attention")(*xs, scale=0.3, causal=causal)
    gxs = _C.grad(_C.native_frontend, [y], xs, [Variable(gy)])

    leaves = [t.double().requires_grad_() for t in tensors]
    expected = attention(*leaves, scale=0.3, causal=causal)
    tolerance = dict(rtol=0, atol=1e-11 if dtype == torch.float64 else 3e-5)
    torch.testing.assert_close(y.tensor.double(), expected, **tolerance)
    for g, e in zip(gxs, torch.autograd.grad(expected, leaves, gy.double()), strict=True):
        torch.testing.assert_close(g.tensor.double(), e, **tolerance)


@pytest.mark.parametrize(
    "n, m, d, e", [(64, 64, 32, 32), (33, 17, 5, 16), (8, 8, 1, 48), (9, 300, 64, 80), (40, 64, 7, 33)]
)
@pytest.mark.parametrize("mask", [None, (1, 1), (1, 0), (0, 1), (3, 1, 1), (2, 3, 1, 1)])
def test_short_sequences(n, m, d, e, mask):
    torch.manual_seed(0)
    tensors = [heads(2, 3, n, d, dtype=torch.float32), heads(2, 3, m, d, dtype=torch.float32), torch.randn(2, 3, m, e)]
    if mask:
        tensors.append(torch.randn(*mask[:-2], n if mask[-2] else 1, m if mask[-1] else 1))
    y = _C.op("attention")(*map(Variable, tensors), scale=0.3).tensor
    torch.testing.assert_close(y.double(), attention(*(t.double() for t in tensors), scale=0.3), rtol=0, atol=1e-5)


@pytest.mark.parametrize("n, m", [(1, 1), (1, 5), (5, 1)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_single_row_of_any_stride(n, m, dtype):
    torch.manual_seed(0)

    def rows(count, depth):  # torch calls them contiguous
        strides = (count * depth, depth if count > 1 else 1, 1)
        return torch.randn(2, count, depth, dtype=dtype).as_strided((2, count, depth), strides)

    tensors = [rows(n, 4), rows(m, 4), rows(m, 3)]
    xs = [Variable(t) for t in tensors]
    y = _C.op("attention")(*xs, scale=0.3)
    gy = torch.randn(2, n, 3, dtype=dtype)
    gxs = _C.grad(_C.native_frontend, [y], xs, [Variable(gy)])
    leaves = [t.clone().requires_grad_() for t in tensors]
    expected = attention(*leaves, scale=0.3)
    torch.testing.assert_close(y.tensor, expected.detach(), rtol=0, atol=1e-5)
    for g, e in zip(gxs, torch.autograd.grad(expected, leaves, gy), strict=True):
        torch.testing.assert_close(g.tensor, e, rtol=0, atol=1e-5)


@pytest.mark.parametrize("row", [float("nan"), float("inf"), -float("inf")])
def test_rows_without_weights_are_nan(row):
    q, k, v = (torch.randn(1, 300, 4) for _ in range(3))
    mask = torch.zeros(300, 300)
    mask[7] = row
    mask[9, 3] = row
    y = _C.op("attention")(Variable(q), Variable(k), Variable(v), Variable(mask)).tensor
    expected = attention(q, k, v, mask)
    torch.testing.assert_close(y, expected, equal_nan=True, rtol=0, atol=1e-5)
    assert y[0, 7].isnan().all()


def test_shapes_are_checked():
    q = Variable(torch.zeros(2, 3, 4))
    op = _C.op("attention")
    for k, v, mask in [((2, 3, 5), (2, 3, 4), (3,)), ((2, 3, 4), (2, 4, 4), (3,)), ((2, 3, 4), (2, 3, 4), (2,))]:
        with pytest.raises(ValueError, match="attention: "):
            op(q, *(Variable(torch.zeros(*s)) for s in (k, v, mask)))
