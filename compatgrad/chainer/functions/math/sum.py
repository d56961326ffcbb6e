"""Sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._documented import _sharing
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.math import _reduction
from compatgrad.chainer.variable import as_variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Axes, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Sum(_reduction.Reduction):
    op = "sum"


class SumTo(_native.NativeFunction):
    op = "sum_to"


@_native.function(Sum)
@_sharing(_reduction.OVER_AXES)
def sum(x: VariableOrArray, axis: Axes = None, keepdims: bool = False) -> Variable:
    """Sum over axes.

    Example:
        >>> F.sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0).array
        array([4., 6.])

    Source: `chainer.functions.sum` of Chainer 7.8.1.
    """
    return Sum(axis, keepdims).apply((x,))[0]


_sum_to = frontend.bind("sum_to", lambda x, shape: SumTo(shape=tuple(shape)).apply((x,))[0], dtype="any")


def sum_to(x: VariableOrArray, shape: tuple[int, ...]) -> Variable:
    """Sum over the axes along which an array of `shape` would be repeated by broadcasting to the shape of `x`.

    Args:
        x: any dtype, of a shape that `shape` can be broadcast to.
        shape: of the result.

    Returns:
        Variable of that shape and the dtype of `x`; `x` itself where it is a Variable of that shape.

    Raises:
        ValueError: `shape` cannot be broadcast to that of `x`.

    Example:
        >>> F.sum_to(np.array([[1.0, 2.0], [3.0, 4.0]]), (2, 1)).array
        array([[3.],
               [7.]])

    Source: `chainer.functions.sum_to` of Chainer 7.8.1.
    """
    if x.shape == shape:
        return as_variable(x)
    return _sum_to(x, shape)
