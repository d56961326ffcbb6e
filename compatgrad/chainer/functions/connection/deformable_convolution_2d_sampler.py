"""Deformable convolution: an input moves the positions that the filter reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.split_axis import split_axis
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.connection.convolution_2d import convolution_2d

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_deform_columns = frontend.bind("deform_columns")


def deformable_convolution_2d_sampler(
    x: VariableOrArray,
    offset: VariableOrArray,
    W: VariableOrArray,
    b: VariableOrArray | None = None,
    stride: IntOrInts = 1,
    pad: IntOrInts = 0,
) -> Variable:
    """Convolution of images, where `offset` moves the positions that the filter reads. Outside the image it reads
    zeros.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        offset: floating, (n, 2 kh kw, out_h, out_w): the displacement in pixels of each of the filter's elements at
            each position, first along the width, then along the height.
        W: floating, (out, c, kh, kw).
        b: of the dtype of `x`, (out,); None for none.
        stride: step of the filter along each axis, or one number for both.
        pad: zeros around each side of the image, for each axis or one number for both.

    Returns:
        Variable of the dtype of `x`, (n, out, out_h, out_w): height and width are those of `offset`.

    Raises:
        ValueError: `offset` has another number of channels.

    Example:
        >>> offset = np.zeros((1, 2, 1, 3))
        >>> offset[0, 0] = 1.0  # one pixel further along the width
        >>> F.deformable_convolution_2d_sampler(np.array([[[[1.0, 2.0, 3.0]]]]), offset, np.ones((1, 1, 1, 1))).array
        array([[[[2., 3., 0.]]]])

    Source: `chainer.functions.deformable_convolution_2d_sampler` of Chainer 7.8.1; Dai et al. 2017.
    """
    out, channels, kh, kw = W.shape
    n, places, out_h, out_w = offset.shape
    if places != 2 * kh * kw:
        raise ValueError(
            f"The shape of the offset does not match the kernel size: {places} channels, expected {2 * kh * kw}"
        )
    columns, rows = split_axis(offset, 2, 1)
    offset = reshape(stack([rows, columns], axis=2), offset.shape)
    stride, pad = _spatial.pair(stride), _spatial.pair(pad)
    x = _deform_columns(x, offset, ksize=(kh, kw), stride=stride, pad=pad, nan=True)
    return convolution_2d(x, reshape(W, (out, channels * kh * kw, 1, 1)), b)
