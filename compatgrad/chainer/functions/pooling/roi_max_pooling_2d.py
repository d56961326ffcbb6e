"""Max pooling of regions of interest."""

from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import _roi

_pair = _spatial.pair  # programs find it here


class ROIMaxPooling2D(_roi.ROIFunction):
    op = "roi_max"
    empty = -float("inf")


def roi_max_pooling_2d(x, rois, roi_indices, outsize, spatial_scale):
    """Maxima of `outsize` bins of regions of images x (N, C, H, W): (R, C, *outsize); -inf in empty bins.

    `rois` (R, 4): top, left, bottom, right, in units of pixels / `spatial_scale`; `roi_indices` (R,), int32:
    each region's image. `outsize`: an int or a pair. Raises TypeError for bad options, InvalidType where
    shapes or dtypes do not fit.
    """
    return ROIMaxPooling2D(outsize, spatial_scale)(x, rois, roi_indices)
