"""Max pooling of regions of interest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import _roi

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_pair = _spatial.pair  # Chainer has this name here too, and programs import it


class ROIMaxPooling2D(_roi.ROIFunction):
    documented = "roi_max_pooling_2d"
    op = "roi_max"
    empty = -float("inf")


def roi_max_pooling_2d(
    x: VariableOrArray, rois: VariableOrArray, roi_indices: VariableOrArray, outsize: IntOrInts, spatial_scale: float
) -> Variable:
    """Divides each region of interest into bins and takes the maximum of each bin.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        rois: of the dtype of `x`, (r, 4): top, left, bottom and right of each region; multiplied by `spatial_scale`
            they are pixels.
        roi_indices: int32, (r,): the image of each region.
        outsize: height and width of the result in bins, or one number for both.
        spatial_scale: positive number.

    Returns:
        Variable of the dtype of `x`, (r, c, out_h, out_w); -inf in empty bins.

    Raises:
        TypeError: `outsize` or `spatial_scale` is not positive.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        IndexError: there is no such image.
        ValueError: an edge of a region is NaN; OverflowError: it is infinite.

    Example:
        >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
        >>> rois, indices = np.array([[0, 0, 4, 4]], np.float32), np.array([0], np.int32)
        >>> F.roi_max_pooling_2d(x, rois, indices, outsize=2, spatial_scale=1.0).array
        array([[[[ 5.,  7.],
                 [13., 15.]]]], dtype=float32)

    Source: `chainer.functions.roi_max_pooling_2d` of Chainer 7.8.1.
    """
    return ROIMaxPooling2D(outsize, spatial_scale)(x, rois, roi_indices)
