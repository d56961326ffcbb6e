"""Rearrangement of channels into blocks of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array import space2depth as _other
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def depth2space(X: VariableOrArray, r: int) -> Variable:
    """Rearranges channels into blocks of r * r pixels: the inverse of `space2depth`.

    Args:
        X: floating, (n, r * r * c, h, w), n images.
        r: the length of a block's sides in pixels.

    Returns:
        Variable (n, c, r * h, r * w) of the dtype of `X`.

    Raises:
        chainer.utils.type_check.InvalidType: `X` is not floating-point or has not 4 axes, or `r * r` does not divide
            its channels.

    Example:
        >>> F.depth2space(np.arange(4.0).reshape(1, 4, 1, 1), r=2).array
        array([[[[0., 1.],
                 [2., 3.]]]])

    Source: `chainer.functions.depth2space` of Chainer 7.8.1; Shi et al. 2016.
    """
    _other._check_images("Depth2Space", X)
    n, c, h, w = X.shape
    c //= r**2
    blocks = transpose(reshape(X, (n, r, r, c, h, w)), (0, 3, 4, 1, 5, 2))
    return reshape(blocks, (n, c, r * h, r * w))
