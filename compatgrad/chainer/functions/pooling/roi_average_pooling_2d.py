"""Average pooling of regions of interest."""

from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import _roi

_pair = _spatial.pair  # programs find it here


class ROIAveragePooling2D(_roi.ROIFunction):
    op = "roi_average"


def roi_average_pooling_2d(x, rois, roi_indices, outsize, spatial_scale):
    """Means of `outsize` bins of regions of images x (N, C, H, W): (R, C, *outsize); 0 in empty bins.

    The arguments are those of `roi_max_pooling_2d`.
    """
    return ROIAveragePooling2D(outsize, spatial_scale)(x, rois, roi_indices)
