"""Max pooling of regions of interest between pixels."""

from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.select_item import select_item
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.array.where import where
from compatgrad.chainer.functions.pooling import _roi


class ROIMaxAlign2D(_roi.ROIAlign):
    def compose(self, x, rois, indices):
        (rows, inside_h, _), (columns, inside_w, _) = self.samples(x, rois)
        (n, outh, sh, height), (_, outw, sw, width) = rows.shape, columns.shape
        y = _roi.weighted(
            x, indices, rows.reshape(n, outh * sh, height), columns.reshape(n, outw * sw, width)
        )
        channels = y.shape[1]
        y = transpose(reshape(y, (n, channels, outh, sh, outw, sw)), (0, 1, 2, 4, 3, 5))
        y = reshape(y, (-1, sh * sw))
        # (R, 1, outh, outw, sh, sw)
        inside = (inside_h[:, :, None, :, None] & inside_w[:, None, :, None, :])[:, None]
        inside = y.xp.broadcast_to(inside, (n, channels, *inside.shape[2:])).reshape(y.shape)
        lowest = -float("inf")
        first = y.xp.where(inside, y.array, lowest).argmax(axis=1)
        y = where(inside.any(axis=1), select_item(y, first), y.xp.full(len(y), lowest, dtype=y.dtype))
        return reshape(y, (n, channels, outh, outw))


def roi_max_align_2d(x, rois, roi_indices, outsize, spatial_scale, sampling_ratio=None):
    """Maxima of samples of `outsize` bins of regions of images x (N, C, H, W), float32; -inf where there is
    none.

    The arguments are those of `roi_average_align_2d`.
    """
    return ROIMaxAlign2D(outsize, spatial_scale, sampling_ratio)(x, rois, roi_indices)
