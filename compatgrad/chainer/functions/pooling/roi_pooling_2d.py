"""Max pooling of regions of interest, in the form of Fast R-CNN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from compatgrad.chainer.functions.pooling import _roi
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


def _roi_pooling_slice(size, stride, max_size, roi_offset):
    """The pixels of bin number `size`, where bins are `stride` wide, in an image of `max_size` pixels: a slice and its
    length."""
    edges = math.floor(size * stride), math.ceil((size + 1) * stride)
    start, stop = (min(max(edge + roi_offset, 0), max_size) for edge in edges)
    return slice(start, stop), stop - start


class ROIPooling2D(_roi.Regions):
    documented = "roi_pooling_2d"
    op = "roi_max"
    empty = 0.0

    def __init__(self, outh: int, outw: int, spatial_scale: float) -> None:
        super().__init__()
        self.outh, self.outw = outh, outw
        self.spatial_scale = spatial_scale

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 2)
        x, rois = in_types
        type_check.expect(x.dtype.kind == "f", x.ndim == 4, x.dtype == rois.dtype, rois.ndim == 2, rois.shape[1] == 5)

    def regions(self, x: Variable, rois: Variable) -> NdArray:
        """The regions as bins with integer bounds, for the ops that pool whole pixels."""
        rois = rois.array
        left, top, right, bottom = _roi.pixels(rois[:, 1:], self.spatial_scale).T
        return _roi.bins(
            _roi.images(x, rois[:, 0].astype(int)),
            _roi.integer_bins(top, bottom - top + 1, self.outh, x.shape[2]),
            _roi.integer_bins(left, right - left + 1, self.outw, x.shape[3]),
        )


def roi_pooling_2d(x: VariableOrArray, rois: VariableOrArray, outh: int, outw: int, spatial_scale: float) -> Variable:
    """Divides each region of interest into bins and takes the maximum of each bin, as Fast R-CNN does: the pixels
    `right` and `bottom` belong to the region.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        rois: of the dtype of `x`, (r, 5): the image's index, then left, top, right and bottom of each region;
            multiplied by `spatial_scale` they are pixels.
        outh, outw: height and width of the result in bins.
        spatial_scale: positive number.

    Returns:
        Variable of the dtype of `x`, (r, c, outh, outw); 0 in empty bins.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        IndexError: there is no such image.
        ValueError: `outh` or `outw` is not positive, or an edge of a region is NaN; OverflowError: it is infinite.

    Example:
        >>> x = np.arange(16.0).reshape(1, 1, 4, 4)
        >>> F.roi_pooling_2d(x, np.array([[0.0, 0.0, 0.0, 3.0, 3.0]]), outh=2, outw=2, spatial_scale=1.0).array
        array([[[[ 5.,  7.],
                 [13., 15.]]]])

    Source: `chainer.functions.roi_pooling_2d` of Chainer 7.8.1; Girshick 2015.
    """
    return ROIPooling2D(outh, outw, spatial_scale).apply((x, rois))[0]
