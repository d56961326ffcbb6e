"""Second derivatives of batch and layer normalization in float32, which kernels compute, against the formula of the
recorded pass in float64."""

import itertools

import pytest
import torch

import compatgrad
import compatgrad.ops as ops

SHAPES = {  # of x and gamma
    "rows of channels": ("batch_normalization", (40, 17), (17,)),
    "images": ("batch_normalization", (3, 5, 6, 7), (5,)),
    "small images": ("batch_normalization", (8, 33, 2, 2), (33,)),
    "one number": ("batch_normalization", (1, 3, 1, 1), (3,)),
    "layer": ("layer_normalization", (9, 37), (37,)),
    "short rows": ("layer_normalization", (6, 1), (1,)),
}
# which of the gradients of x, gamma and beta the second derivative starts from
STARTS = [start for n in (1, 2, 3) for start in itertools.combinations(range(3), n)]


def second(op, arrays, start, wanted, record):
    """The gradients of x, gamma and gy of a weighted sum of first derivatives."""
    x, gamma, beta, gy, *weights = (compatgrad.Variable(a) for a in arrays)
    y = getattr(ops, op)(x, gamma, beta, eps=1e-3)
    first = compatgrad.grad([y], [x, gamma, beta], [gy], enable_double_backprop=True)
    outputs, weights = [first[i] for i in start], [weights[i] for i in start]
    inputs = [(x, gamma, gy)[i] for i in wanted]
    return [
        None if g is None else g.tensor
        for g in compatgrad.grad(outputs, inputs, weights, enable_double_backprop=record)
    ]


@pytest.mark.parametrize("wanted", [(0, 1, 2), (0,), (1,), (2,)])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES.keys())
def test_against_the_formula(shapes, start, wanted):
    op, x, gamma = shapes
    torch.manual_seed(0)
    arrays = [torch.randn(s) for s in (x, gamma, gamma, x, x, gamma, gamma)]
    expected = second(op, [a.double() for a in arrays], start, wanted, record=True)
    found = second(op, arrays, start, wanted, record=False)
    for f, e in zip(found, expected, strict=True):
        assert (f is None) == (e is None)
        if f is not None:
            assert f.dtype == torch.float32
            torch.testing.assert_close(f.double(), e, rtol=1e-4, atol=2e-5 * max(1.0, e.abs().max().item()))


@pytest.mark.parametrize("op", ["batch_normalization", "layer_normalization"])
def test_layouts_and_dtypes(op):
    torch.manual_seed(1)
    shapes = ((6, 4), (4,), (4,), (6, 4), (6, 4), (4,), (4,))
    arrays = [torch.randn(s, dtype=torch.float64) for s in shapes]
    expected = second(op, arrays, (0, 1, 2), (0, 1, 2), record=False)
    apart = [torch.randn(*a.shape, 2, dtype=torch.float64)[..., 0].copy_(a) for a in arrays]
    transposed = [a.t().contiguous().t() if a.dim() == 2 else a for a in arrays]
    for given in (apart, transposed):
        for f, e in zip(second(op, given, (0, 1, 2), (0, 1, 2), record=False), expected, strict=True):
            torch.testing.assert_close(f, e, rtol=1e-12, atol=1e-12)


def test_no_samples():
    arrays = [torch.zeros(s) for s in ((0, 3), (3,), (3,), (0, 3), (0, 3), (3,), (3,))]
    gx, ggamma, ggy = second("layer_normalization", arrays, (0, 1, 2), (0, 1, 2), record=False)
    assert gx.shape == ggy.shape == (0, 3) and ggamma.tolist() == [0, 0, 0]


def test_rows_are_read_once(monkeypatch):
    """Kernels, not the formula's thirty operations."""
    torch.manual_seed(2)
    for op in ("batch_normalization", "layer_normalization"):
        arrays = [torch.randn(s) for s in ((6, 4), (4,), (4,), (6, 4), (6, 4), (4,), (4,))]
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            second(op, arrays, (0,), (0, 1, 2), record=False)
        assert "aten::mul" not in {event.key for event in profile.key_averages()}
