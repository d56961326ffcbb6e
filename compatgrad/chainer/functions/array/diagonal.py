"""Diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Diagonal(_native.NativeFunction):
    op = "diagonal"

    def __init__(self, offset: int, axis1: int, axis2: int) -> None:
        super().__init__(offset=offset, axis1=axis1, axis2=axis2)

    offset = _native.parameter("offset")
    axis1 = _native.parameter("axis1")
    axis2 = _native.parameter("axis2")

    @type_check._expects
    def check_type_forward(self, x):
        return max(self.axis1, self.axis2) < x.ndim, -x.ndim <= min(self.axis1, self.axis2)


def diagonal(x: VariableOrArray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """The diagonals of the matrices that two axes of `x` make.

    Args:
        x: any dtype, at least 2 axes.
        offset: which diagonal: 0 the main one, above it if positive, below it if negative.
        axis1: the rows of the matrices.
        axis2: their columns.

    Returns:
        Variable of the dtype of `x`: the other axes, then the diagonal.

    Raises:
        ValueError: `axis1` and `axis2` are the same.
        chainer.utils.type_check.InvalidType: `x` has no such axis.

    Example:
        >>> F.diagonal(np.arange(9.0).reshape(3, 3), offset=1).array
        array([1., 5.])

    Source: `chainer.functions.diagonal` of Chainer 7.8.1.
    """
    return Diagonal(offset, axis1, axis2).apply((x,))[0]
