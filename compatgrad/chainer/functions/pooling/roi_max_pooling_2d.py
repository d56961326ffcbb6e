"""Max pooling of regions of interest."""

from compatgrad.chainer.functions.pooling import _roi


class ROIMaxPooling2D(_roi.ROIFunction):
    argmax_data = None

    def compose(self, x, rois, indices):
        indices = indices.array
        if self.argmax_data is None:
            self.argmax_data = _roi.first_maxima(x.array, indices, *self.bins(rois, x.shape))
        return _roi.picked(x, indices, self.argmax_data, -float("inf"))


def roi_max_pooling_2d(x, rois, roi_indices, outsize, spatial_scale):
    """Maxima of `outsize` bins of regions of images x (N, C, H, W): (R, C, *outsize); -inf in empty bins.

    `rois` (R, 4): top, left, bottom, right, in units of pixels / `spatial_scale`; `roi_indices` (R,), int32:
    each region's image. `outsize`: an int or a pair. Raises TypeError for bad options, InvalidType where
    shapes or dtypes do not fit.
    """
    return ROIMaxPooling2D(outsize, spatial_scale)(x, rois, roi_indices)
