"""Dilated convolution, a function that is older than `convolution_2d`'s argument `dilate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.connection.convolution_2d import convolution_2d

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


def dilated_convolution_2d(
    x: VariableOrArray,
    W: VariableOrArray,
    b: VariableOrArray | None = None,
    stride: IntOrInts = 1,
    pad: IntOrInts = 0,
    dilate: IntOrInts = 1,
    cover_all: bool = False,
) -> Variable:
    """Convolution of images with a dilated filter: `convolution_2d` with `dilate`.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        W: floating, (out, c, kh, kw).
        b: of the dtype of `x`, (out,); None for none.
        stride: step of the filter along each axis, or one number for both.
        pad: zeros around each side of the image, for each axis or one number for both.
        cover_all: True adds a place of the filter where the last ones would leave elements out.
        dilate: distance between the filter's elements along each axis, or one number for both.

    Returns:
        Variable of the dtype of `x`, (n, out, out_h, out_w) with out_h = (h + 2 pad - dilate (kh - 1) - 1) // stride +
        1.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: the result would be empty.

    Example:
        >>> F.dilated_convolution_2d(np.array([[[[1.0, 2.0, 3.0, 4.0]]]]), np.ones((1, 1, 1, 2)), dilate=2).array
        array([[[[4., 6.]]]])

    Source: `chainer.functions.dilated_convolution_2d` of Chainer 7.8.1; Yu and Koltun 2015.
    """
    return convolution_2d(x, W, b, stride, pad, cover_all, dilate=dilate)
