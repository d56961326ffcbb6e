"""Rearrangement of blocks of pixels into channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _check_images(function, x):
    """Raises InvalidType unless `x` is floating and has four axes."""
    (t,) = type_check.get_types((as_array(x),), function, False)
    type_check.expect(t.dtype.kind == "f", t.ndim == 4)


def space2depth(X: VariableOrArray, r: int) -> Variable:
    """Rearranges blocks of r * r pixels into channels: the inverse of `depth2space`.

    Args:
        X: floating, (n, c, r * h, r * w), n images of c channels.
        r: the length of a block's sides in pixels.

    Returns:
        Variable (n, r * r * c, h, w) of the dtype of `X`.

    Raises:
        chainer.utils.type_check.InvalidType: `X` is not floating-point or has not 4 axes, or `r` does not divide height
            and width.

    Example:
        >>> F.space2depth(np.arange(4.0).reshape(1, 1, 2, 2), r=2).array.shape
        (1, 4, 1, 1)

    Source: `chainer.functions.space2depth` of Chainer 7.8.1; Shi et al. 2016.
    """
    _check_images("Space2Depth", X)
    n, c, h, w = X.shape
    blocks = transpose(reshape(X, (n, c, h // r, r, w // r, r)), (0, 3, 5, 1, 2, 4))
    return reshape(blocks, (n, r**2 * c, h // r, w // r))
