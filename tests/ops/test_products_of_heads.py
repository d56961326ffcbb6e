"""Products of batches that lie apart, such as the heads of an attention."""

import numpy as np
import pytest
import torch

from compatgrad import ops

random = np.random.RandomState(0)


def permuted(shape, axes, dtype=np.float32):
    x = random.randn(*shape).astype(dtype)
    return x.transpose(axes), torch.from_numpy(x).permute(axes)


@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("transb", [False, True])
@pytest.mark.parametrize("columns", [False, True])
def test_products_of_heads(transa, transb, columns):
    """Operands are views whose batches lie apart, with rows or with columns of adjacent elements."""
    a, ta = permuted((2, 6, 3, 4, 8), (2, 0, 3, 1, 4), np.float64)
    b, tb = permuted((2, 6, 3, 4, 8), (2, 0, 3, 1, 4), np.float64)
    a, b, ta, tb = a[0], b[1], ta[0], tb[1]  # (2, 4, 6, 8)
    if columns:
        a, b, ta, tb = a.swapaxes(2, 3), b.swapaxes(2, 3), ta.transpose(2, 3), tb.transpose(2, 3)
    inner = a.shape[-2] if transa else a.shape[-1]
    if (b.shape[-1] if transb else b.shape[-2]) != inner:
        b, tb = b.swapaxes(2, 3), tb.transpose(2, 3)
    want = (a.swapaxes(2, 3) if transa else a) @ (b.swapaxes(2, 3) if transb else b)
    found = ops.matmul(ta, tb, transa=transa, transb=transb).tensor.numpy()
    np.testing.assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize("transb", [False, True])
def test_products_of_large_heads(transb):
    """Batches that are multiplied one by one, without copies."""
    a, ta = permuted((2, 128, 3, 6, 64), (2, 0, 3, 1, 4))
    b, tb = permuted((2, 128, 3, 6, 64), (2, 0, 3, 1, 4))
    a, b, ta, tb = a[0], b[1], ta[0], tb[1]
    if not transb:
        b, tb = b.swapaxes(2, 3), tb.transpose(2, 3)
    want = a.astype(np.float64) @ (b.swapaxes(2, 3) if transb else b)
    np.testing.assert_allclose(ops.matmul(ta, tb, transb=transb).tensor.numpy(), want, rtol=1e-5, atol=1e-4)
    one = np.ascontiguousarray(b)
    np.testing.assert_allclose(
        ops.matmul(ta, torch.from_numpy(one), transb=transb).tensor.numpy(), want, rtol=1e-5, atol=1e-4
    )
