"""Ops that select from inputs: unselected elements get a gradient of 0, or the gradient times 0 as in the originals."""

import math

import pytest
import torch

import compatgrad
from compatgrad import ops

NAN, INF = math.nan, math.inf
TAKEN = [True, False, True, False]
WAYS = {
    "where": lambda a, b: ops.where(torch.tensor(TAKEN), a, b),
    "maximum": ops.maximum,
}
MASKS = {
    "minimum": lambda a, b: ops.minimum(-a, -b),
    "maximum_product": ops.maximum_product,
    "maximum_last": ops.maximum_last,
    "minimum_last": lambda a, b: ops.minimum_last(-a, -b),
}


def gradients(way, again):
    a = compatgrad.Variable(torch.tensor([2.0, 1.0, 2.0, 1.0]))
    b = compatgrad.Variable(torch.tensor([1.0, 2.0, 1.0, 2.0]))
    arriving = compatgrad.Variable(torch.tensor([NAN, NAN, INF, INF]))
    found = compatgrad.grad([(WAYS | MASKS)[way](a, b)], [a, b], [arriving], enable_double_backprop=again)
    return [g.tensor.abs().tolist() for g in found]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_unselected_elements_get_zero(way, again):
    first, second = gradients(way, again)
    assert math.isnan(first[0]) and first[1:] == [0, INF, 0]
    assert second[0] == 0 and math.isnan(second[1]) and second[2:] == [0, INF]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("way", MASKS)
def test_a_mask_multiplies(way, again):
    for g in gradients(way, again):
        assert not any(math.isfinite(v) for v in g)


def test_rows_that_are_masked_out():
    """A fully masked row of attention scores: the softmax of -inf everywhere is NaN, which is then replaced by 0."""
    x = compatgrad.Variable(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    mask = torch.tensor([[True, False], [False, False]])
    y = ops.softmax(ops.where(mask, x, torch.full((2, 2), -INF)), axis=1)
    y = ops.where(y.tensor.isnan(), torch.zeros(2, 2), y)
    (g,) = compatgrad.grad([y.sum()], [x])
    assert g.tensor.tolist() == [[0, 0], [0, 0]]
