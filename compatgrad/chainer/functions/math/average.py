"""Means, weighted or not."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.array.broadcast import broadcast_to
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.math._reduction import Reduction
from compatgrad.chainer.functions.math.sum import sum as _sum


class Mean(Reduction):
    op = "mean"


_mean = frontend.bind("mean", lambda x, axis, keepdims: Mean(axis, keepdims).apply((x,))[0])


def average(x, axis=None, weights=None, keepdims=False):
    """Mean of `x` over `axis` (None: all; an int, a tuple).

    `weights`: of one axis' length or of the shape of `x`. Raises ValueError for a repeated axis, or several
    axes with weights.
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
