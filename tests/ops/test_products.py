"""Gradients of matrix products have the layout of what they are gradients of, in recorded passes as well."""

import itertools

import pytest
import torch

import compatgrad
import compatgrad.ops as ops


@pytest.mark.parametrize("transa, transb", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_no_gradient_is_transposed(batch, transa, transb):
    """Adding a transposed gradient to another one takes several times as long."""
    torch.manual_seed(0)
    a = compatgrad.Variable(torch.randn(*batch, *((4, 5) if transa else (5, 4))))
    b = compatgrad.Variable(torch.randn(*batch, *((6, 4) if transb else (4, 6))))
    gy = compatgrad.Variable(torch.randn(*batch, 5, 6))
    y = ops.matmul(a, b, transa=transa, transb=transb)
    first = compatgrad.grad([y], [a, b], [gy], enable_double_backprop=True)
    for output in first:  # one at a time: a sum of several would not show the layout of each
        for g in compatgrad.grad([output], [a, b, gy], [compatgrad.Variable(torch.randn(output.shape))]):
            assert g is None or g.tensor.is_contiguous()


def test_weights_of_a_linear_layer():
    x, w = compatgrad.Variable(torch.randn(5, 3)), compatgrad.Variable(torch.randn(4, 3))
    gy = compatgrad.Variable(torch.randn(5, 4))
    (gw,) = compatgrad.grad([ops.linear(x, w)], [w], [gy], enable_double_backprop=True)
    seed = torch.randn(4, 3)
    to_x, to_gy = (g.tensor for g in compatgrad.grad([gw], [x, gy], [compatgrad.Variable(seed)]))
    assert to_gy.is_contiguous() and to_x.is_contiguous()
    torch.testing.assert_close(to_gy, x.tensor @ seed.t())
    torch.testing.assert_close(to_x, gy.tensor @ seed)


@pytest.mark.parametrize("transb", [False, True])
def test_batches_whose_axes_lie_apart(transb):
    """Heads of attention: views of one array, in which a batch has two axes."""
    torch.manual_seed(0)
    q, k = torch.randn(2, 7, 2, 3, 4).permute(2, 0, 3, 1, 4).unbind()
    other = k if transb else k.transpose(-1, -2)
    y = ops.matmul(compatgrad.Variable(q), compatgrad.Variable(other), transb=transb)
    torch.testing.assert_close(y.tensor, q @ k.transpose(-1, -2))
