"""Smaller of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Minimum(_native.ElementwiseOfTwo):
    op = "minimum"


@_native.function(Minimum)
def minimum(x1: VariableOrArray, x2: VariableOrArray) -> Variable:
    """The smaller of two elements, with broadcasting.

    Args:
        x1: floating, any shape.
        x2: of the dtype of `x1`, of a shape that is broadcast with its shape.

    Returns:
        Variable of their dtype and common shape.

    Raises:
        TypeError: one of them is neither a Variable nor an array.
        chainer.utils.type_check.InvalidType: they are not floating-point, dtypes differ, or shapes cannot be broadcast.

    Example:
        >>> F.minimum(np.array([1.0, 4.0]), np.array([3.0, 2.0])).array
        array([1., 2.])

    Source: `chainer.functions.minimum` of Chainer 7.8.1.
    """
    return Minimum().apply((x1, x2))[0]
