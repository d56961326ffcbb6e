"""Loops of the engine that take the place of ATen's functions give the same bits, for any number of elements."""

import pytest
import torch

from compatgrad import ops

SPECIAL = [0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e-40, -1e-40]


def bits(t):
    return t.view({torch.float32: torch.int32, torch.float64: torch.int64}[t.dtype])


def numbers(n, dtype):
    """All pairs of special numbers, then random ones."""
    pairs = torch.cartesian_prod(torch.tensor(SPECIAL, dtype=dtype), torch.tensor(SPECIAL, dtype=dtype))
    more = torch.randn(n, 2, dtype=dtype, generator=torch.Generator().manual_seed(n))
    return torch.cat([pairs, more]).T.contiguous()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [0, 9, 100_000])
def test_relu(n, dtype):
    g, y = numbers(n, dtype)
    assert torch.equal(bits(ops.relu(y).tensor), bits(torch.relu(y)))
    assert torch.equal(
        bits(ops.relu_grad(g, y, rule="choice").tensor), bits(torch.ops.aten.threshold_backward(g, y, 0))
    )
    expected = torch.ops.aten.leaky_relu_backward(g, y, 0.0, False)
    got = ops.relu_grad(g, y, rule="product").tensor
    finite = ~expected.isnan()
    assert torch.equal(got.isnan(), expected.isnan())
    assert torch.equal(bits(got[finite]), bits(expected[finite]))


@pytest.mark.parametrize("rows, inside, columns", [(1, 10, 32), (4, 10, 32), (16, 32, 30), (3, 1, 1), (1, 1, 5)])
def test_products_of_tiny_matrices(rows, inside, columns):
    make = torch.Generator().manual_seed(rows)
    x, w, gy = (torch.randn(*s, generator=make) for s in ((rows, columns), (columns, inside), (rows, inside)))
    got = ops.matmul(gy, w, transb=True).tensor
    torch.testing.assert_close(got, gy @ w.T)
    torch.testing.assert_close(ops.matmul(x, gy, transa=True).tensor, x.T @ gy)
