"""RoIAlign with maxima: max pooling of regions of interest, sampled between pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import _roi

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_pair = _spatial.pair  # Chainer has this name here too, and programs import it


class ROIMaxAlign2D(_roi.ROIAlign):
    documented = "roi_max_align_2d"
    op = "roi_max_align"
    empty = -float("inf")


def roi_max_align_2d(
    x: VariableOrArray,
    rois: VariableOrArray,
    roi_indices: VariableOrArray,
    outsize: IntOrInts,
    spatial_scale: float,
    sampling_ratio: IntOrInts | None = None,
) -> Variable:
    """Divides each region of interest into bins and takes the maximum of samples in each bin, which are interpolated
    between pixels.

    Args:
        x: float32, (n, c, h, w): n images of c channels.
        rois: of the dtype of `x`, (r, 4): top, left, bottom and right of each region; multiplied by `spatial_scale`
            they are pixels.
        roi_indices: int32, (r,): the image of each region.
        outsize: height and width of the result in bins, or one number for both.
        spatial_scale: positive number.
        sampling_ratio: number of samples of a bin along each axis, an int or a pair; None: the number of its pixels.

    Returns:
        Variable of the dtype of `x`, (r, c, out_h, out_w); -inf where there is no sample.

    Raises:
        TypeError: `outsize`, `spatial_scale` or `sampling_ratio` is not positive.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        IndexError: there is no such image.
        ValueError: an edge of a region is NaN; OverflowError: it is infinite.

    Example:
        >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
        >>> rois, indices = np.array([[0, 0, 4, 4]], np.float32), np.array([0], np.int32)
        >>> F.roi_max_align_2d(x, rois, indices, outsize=2, spatial_scale=1.0).array
        array([[[[ 7.5,  9. ],
                 [13.5, 15. ]]]], dtype=float32)

    Source: `chainer.functions.roi_max_align_2d` of Chainer 7.8.1; He et al. 2017.
    """
    return ROIMaxAlign2D(outsize, spatial_scale, sampling_ratio)(x, rois, roi_indices)
