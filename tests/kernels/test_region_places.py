"""Regions and places as nobody should give them: nothing outside the images is read or written."""

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad import _C

BINS, BOXES = torch.tensor([[0, 0, 4, 0, 4]]), torch.tensor([[0.0, 0, 0, 4, 4]])
FARTHEST = {"roi_max": 15, "roi_max_align": 3}  # the last place that is on the image


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("place", [-(2**31), -1, 0, 3, 4, 15, 16, 10**9, 2**31 - 1])
@pytest.mark.parametrize("op", ["roi_max", "roi_max_align"])
def test_places_that_are_nowhere(op, place, dtype):
    places = torch.full((1, 2, 1, 1), place, dtype=torch.int32)
    regions, more = (BINS, {}) if op == "roi_max" else (BOXES, {"sampling_ratio": 2})
    memory = torch.full((3, 2, 4, 4), 7.0, dtype=dtype)  # images before and behind the one that is read
    x = memory[1:2]
    found = _C.op(f"{op}_at")(x, regions, places, output_size=(1, 1), **more)
    gy = torch.ones(1, 2, 1, 1, dtype=dtype)
    gx = _C.op(f"{op}_grad")(gy, regions, places, insize=x.shape, output_size=(1, 1), **more)
    there = 0 <= place <= FARTHEST[op]
    assert found.tensor.tolist() == [[[[7.0 * there]], [[7.0 * there]]]]
    assert gx.tensor.sum() == 2 * there
    assert gx.tensor.min() >= 0


@pytest.mark.parametrize("low", [-3e4, -5e4, -1e5, -1.4e5])
def test_a_maximum_among_more_samples_than_places_can_count(low):
    # samples by the size of a bin: the last few are on the image, and squared their number exceeds 2^31
    x = chainer.Variable(np.arange(36, dtype=np.float32).reshape(1, 1, 6, 6))
    rois, images = np.array([[low, low, 6, 6]], np.float32), np.zeros(1, np.int32)
    y = F.roi_max_align_2d(x, rois, images, (1, 1), 1.0)
    y.grad = np.ones_like(y.array)
    y.backward()
    expected = np.zeros((6, 6), np.float32)
    if low == -3e4:
        expected[5, 5] = 1
        assert y.array == 35
    else:  # too large to be sampled
        assert y.array == -np.inf
    np.testing.assert_array_equal(x.grad[0, 0], expected)


def test_too_many_samples_are_refused():
    x = torch.zeros(1, 1, 4, 4)
    with pytest.raises(ValueError, match="sampling_ratio"):
        _C.op("roi_max_align")(x, BOXES, output_size=(1, 1), sampling_ratio=40000)


FUNCTIONS = [
    "roi_pooling_2d",
    "roi_average_pooling_2d",
    "roi_max_pooling_2d",
    "roi_average_align_2d",
    "roi_max_align_2d",
]


def call(name, edges, dtype=np.float32):
    x = np.arange(12, dtype=dtype).reshape(1, 1, 3, 4)
    if name == "roi_pooling_2d":
        return F.roi_pooling_2d(x, np.array([[0, *edges]], dtype), 1, 1, 1.0)
    return getattr(F, name)(x, np.array([edges], dtype), np.zeros(1, np.int32), (1, 1), 1.0)


@pytest.mark.parametrize(("edge", "error"), [(np.nan, ValueError), (np.inf, OverflowError), (-np.inf, OverflowError)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges_that_are_not_finite(name, edge, error):
    with pytest.raises(error, match="the edges of a region must be finite"):
        call(name, [0, 0, edge, 2])


@pytest.mark.parametrize("name", FUNCTIONS[:3])
def test_edges_far_away(name):
    y = call(name, [0, 0, 1e30, 1e30]).array
    assert np.isfinite(y)
    if "average" not in name:
        assert y == 11
