"""Max pooling of regions of interest, in the form of Fast R-CNN."""

import math

from compatgrad.chainer.functions.pooling import _roi
from compatgrad.chainer.utils import type_check


def _roi_pooling_slice(size, stride, max_size, roi_offset):
    """The places of a bin, number `size` of those `stride` wide, in an image of `max_size`: a slice, and its length."""
    edges = math.floor(size * stride), math.ceil((size + 1) * stride)
    start, stop = (min(max(edge + roi_offset, 0), max_size) for edge in edges)
    return slice(start, stop), stop - start


class ROIPooling2D(_roi.Regions):
    op = "roi_max"
    empty = 0.0

    def __init__(self, outh, outw, spatial_scale):
        super().__init__()
        self.outh, self.outw = outh, outw
        self.spatial_scale = spatial_scale

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 2)
        x, rois = in_types
        type_check.expect(x.dtype.kind == "f", x.ndim == 4, x.dtype == rois.dtype, rois.ndim == 2, rois.shape[1] == 5)

    def regions(self, x, rois):
        rois = rois.array
        left, top, right, bottom = _roi.pixels(rois[:, 1:], self.spatial_scale).T
        return _roi.bins(
            _roi.images(x, rois[:, 0].astype(int)),
            _roi.integer_bins(top, bottom - top + 1, self.outh, x.shape[2]),
            _roi.integer_bins(left, right - left + 1, self.outw, x.shape[3]),
        )


def roi_pooling_2d(x, rois, outh, outw, spatial_scale):
    """Maxima of `outh` by `outw` bins of regions of images x (N, C, H, W): (R, C, outh, outw); 0 in empty
    bins.

    `rois` (R, 5): the image's index, left, top, right and bottom, which are inside, in units of pixels /
    `spatial_scale`. Raises InvalidType where shapes or dtypes do not fit. Girshick 2015.
    """
    return ROIPooling2D(outh, outw, spatial_scale).apply((x, rois))[0]
