"""Max pooling of regions of interest between pixels."""

from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import _roi

_pair = _spatial.pair  # programs find it here


class ROIMaxAlign2D(_roi.ROIAlign):
    op = "roi_max_align"
    empty = -float("inf")


def roi_max_align_2d(x, rois, roi_indices, outsize, spatial_scale, sampling_ratio=None):
    """Maxima of samples of `outsize` bins of regions of images x (N, C, H, W), float32; -inf where there is
    none.

    The arguments are those of `roi_average_align_2d`.
    """
    return ROIMaxAlign2D(outsize, spatial_scale, sampling_ratio)(x, rois, roi_indices)
