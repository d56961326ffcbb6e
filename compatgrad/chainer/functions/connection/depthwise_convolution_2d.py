"""Depthwise convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.connection.convolution_2d import convolution_2d

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


def depthwise_convolution_2d(
    x: VariableOrArray, W: VariableOrArray, b: VariableOrArray | None = None, stride: IntOrInts = 1, pad: IntOrInts = 0
) -> Variable:
    """Convolution of each channel of images with filters of its own.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        W: floating, (multiplier, c, kh, kw).
        b: of the dtype of `x`, (c multiplier,); None for none.
        stride: step of the filter along each axis, or one number for both.
        pad: zeros around each side of the image, for each axis or one number for both.

    Returns:
        Variable of the dtype of `x`, (n, c multiplier, out_h, out_w), ordered by input channel.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: the result would be empty.

    Example:
        >>> W = np.array([1.0, 10.0]).reshape(1, 2, 1, 1)
        >>> F.depthwise_convolution_2d(np.ones((1, 2, 1, 2)), W).array
        array([[[[ 1.,  1.]],
        <BLANKLINE>
                [[10., 10.]]]])

    Source: `chainer.functions.depthwise_convolution_2d` of Chainer 7.8.1; Chollet 2016.
    """
    multiplier, channels, kh, kw = W.shape
    W = reshape(transpose(W, (1, 0, 2, 3)), (multiplier * channels, 1, kh, kw))
    return convolution_2d(x, W, b, stride, pad, groups=channels)
