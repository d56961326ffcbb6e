"""Copies of arrays whose rows lie apart, and products of them."""

import numpy as np
import pytest
import torch

from compatgrad import ops

random = np.random.RandomState(0)
# shape, order of the axes
LAYOUTS = [
    ((2, 5, 3, 4, 8), (2, 0, 3, 1, 4)),
    ((2, 5, 3, 4, 8), (3, 1, 0, 2, 4)),
    ((3, 4, 16), (1, 0, 2)),
    ((3, 4, 5), (1, 0, 2)),
    ((3, 4, 3), (1, 0, 2)),  # rows too short for a loop of their own
    ((3, 4, 1100), (1, 0, 2)),
    ((1, 4, 1, 7), (1, 0, 2, 3)),
    ((2, 3, 4, 8), (0, 1, 3, 2)),  # the last axis lies apart
    ((2, 2, 2, 2, 2, 2, 2, 2, 4), (7, 6, 5, 4, 3, 2, 1, 0, 8)),  # more axes than the loop has
    ((0, 4, 8), (1, 0, 2)),
    ((40, 64, 32), (1, 0, 2)),
    ((3, 64, 16, 32), (0, 2, 1, 3)),
]


def permuted(shape, axes, dtype=np.float32):
    x = random.randn(*shape).astype(dtype)
    return x.transpose(axes), torch.from_numpy(x).permute(axes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_reshape(layout, dtype):
    x, t = permuted(*layout, dtype)
    np.testing.assert_array_equal(ops.reshape(t, (-1,)).tensor.numpy(), x.reshape(-1))
    if x.size:
        want = x.reshape(x.shape[0], -1)
        np.testing.assert_array_equal(ops.reshape(t, (x.shape[0], -1)).tensor.numpy(), want)


def test_reshape_of_a_part():
    x = random.randn(6, 9, 20).astype(np.float32)
    t = torch.from_numpy(x)
    np.testing.assert_array_equal(ops.reshape(t[1:5, ::2, 3:15], (-1,)).tensor.numpy(), x[1:5, ::2, 3:15].reshape(-1))
    np.testing.assert_array_equal(
        ops.reshape(t[:, :1].expand(6, 4, 20), (-1,)).tensor.numpy().reshape(6, 4, 20), x[:, :1].repeat(4, 1)
    )


def test_wrong_shapes_are_refused():
    t = permuted((3, 4, 16), (1, 0, 2))[1]
    with pytest.raises(ValueError, match="shape"):
        ops.reshape(t, (5, -1))


def test_threads_share_the_work():
    x, t = permuted((64, 100, 32), (1, 0, 2))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        np.testing.assert_array_equal(ops.reshape(t, (-1,)).tensor.numpy(), x.reshape(-1))
    finally:
        torch.set_num_threads(before)


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


@pytest.mark.parametrize("width", [64, 61])
def test_gradient_of_a_large_table(width):
    """Larger than the caches, so that its zeros are written past them."""
    rows = (1 << 24) // (4 * width) + 9
    ids = np.array([0, rows - 1, 5, 5])
    gy = random.randn(4, width).astype(np.float32)
    g = ops.embedding_grad(torch.from_numpy(gy), torch.from_numpy(ids), rows).tensor.numpy()
    want = np.zeros((rows, width), np.float32)
    np.add.at(want, ids, gy)
    np.testing.assert_allclose(g, want, rtol=1e-6)
