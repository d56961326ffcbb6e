"""Reversal of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array.flip import _FlipAlong
from compatgrad.chainer.utils import type_check  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class FlipLR(_FlipAlong):
    documented = "fliplr"
    _axis = 1


def fliplr(a: VariableOrArray) -> Variable:
    """`a` in reverse order along the second axis.

    Args:
        a: floating, at least 2 axes.

    Returns:
        Variable of the shape and dtype of `a`.

    Raises:
        chainer.utils.type_check.InvalidType: `a` is not floating-point or has fewer than 2 axes.

    Example:
        >>> F.fliplr(np.array([[1.0, 2.0], [3.0, 4.0]])).array
        array([[2., 1.],
               [4., 3.]])

    Source: `chainer.functions.fliplr` of Chainer 7.8.1.
    """
    return FlipLR().apply((a,))[0]
