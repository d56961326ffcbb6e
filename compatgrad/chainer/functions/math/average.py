"""Means, weighted or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.array.broadcast import broadcast_to
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.math import _reduction
from compatgrad.chainer.functions.math.sum import sum as _sum

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Axes, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Mean(_reduction.Reduction):
    documented = "average"
    op = "mean"


_mean = frontend.bind("mean", lambda x, axis, keepdims: Mean(axis, keepdims).apply((x,))[0])


def average(
    x: VariableOrArray, axis: Axes = None, weights: VariableOrArray | None = None, keepdims: bool = False
) -> Variable:
    """Mean over axes, weighted or not.

    Args:
        x: floating, any shape.
        axis: which axes: an int or a tuple, negative ones counted from the last; None: all; with weights, one or all.
        weights: floating, of the shape of `x`, or a vector as long as `axis`; the result is divided by the sum of all
            weights.
        keepdims: True keeps the axes, with length 1.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        TypeError: `axis` is of another kind.
        ValueError: an axis is given twice, weights are given with several axes, or weights for all axes do not have the
            shape of `x`.
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has no such axis, or weights do not fit it.

    Example:
        >>> F.average(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0, weights=np.array([3.0, 1.0])).array
        array([1.5, 2.5])

    Source: `chainer.functions.average` of Chainer 7.8.1.
    """
    if weights is None:
        return _mean(x, axis, keepdims)
    if axis is not None:
        axes = axis if isinstance(axis, tuple) else (axis,)
        axes = sorted(a + x.ndim if a < 0 else a for a in axes)
        if len(set(axes)) != len(axes):
            raise ValueError(f"duplicate value in 'axis'. Actual: {axis}")
        if len(axes) > 1:
            raise ValueError(f"tuple axis is not supported when weights is given. Actual: {axis}")
        axis = tuple(axes)
    total = _sum(weights)
    if axis is not None:
        shape = [n if i in axis else 1 for i, n in enumerate(x.shape)]
        weights = broadcast_to(reshape(weights, shape), x.shape)
    y = _sum(x * weights, axis, keepdims)
    return y / broadcast_to(total, y.shape)
