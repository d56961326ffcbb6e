"""Reversal of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array.flip import _FlipAlong
from compatgrad.chainer.utils import type_check  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class FlipUD(_FlipAlong):
    documented = "flipud"
    _axis = 0


def flipud(a: VariableOrArray) -> Variable:
    """`a` in reverse order along the first axis.

    Args:
        a: floating, at least 1 axis.

    Returns:
        Variable of the shape and dtype of `a`.

    Raises:
        chainer.utils.type_check.InvalidType: `a` is not floating-point or has no axis.

    Example:
        >>> F.flipud(np.array([[1.0, 2.0], [3.0, 4.0]])).array
        array([[3., 4.],
               [1., 2.]])

    Source: `chainer.functions.flipud` of Chainer 7.8.1.
    """
    return FlipUD().apply((a,))[0]
