"""Average pooling of regions of interest between pixels."""

from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import _roi

_pair = _spatial.pair  # programs find it here


class ROIAverageAlign2D(_roi.ROIAlign):
    op = "roi_align"


def roi_average_align_2d(x, rois, roi_indices, outsize, spatial_scale, sampling_ratio=None):
    """Means of `outsize` bins of regions of images x (N, C, H, W), float32, interpolated between pixels.

    `sampling_ratio`: how many samples a bin has along each axis, an int or a pair; None: as many as pixels.
    Samples that lie outside the image are zeros. The other arguments are those of `roi_max_pooling_2d`. He et
    al. 2017.
    """
    return ROIAverageAlign2D(outsize, spatial_scale, sampling_ratio)(x, rois, roi_indices)
