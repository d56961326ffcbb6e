"""Gradients of embeddings with large tables."""

import numpy as np
import pytest
import torch

from compatgrad import ops

random = np.random.RandomState(0)


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
