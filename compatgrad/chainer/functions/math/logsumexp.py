"""Logarithm of a sum of exponentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.math import _reduction

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Axes, VariableOrArray
    from compatgrad.chainer.variable import Variable


class LogSumExp(_reduction.Reduction):
    op = "logsumexp"

    def __init__(self, axis: Axes = None) -> None:
        super().__init__(axis)


_logsumexp = frontend.bind("logsumexp", lambda x, axis: LogSumExp(axis).apply((x,))[0])


def logsumexp(x: VariableOrArray, axis: Axes = None) -> Variable:
    """log(sum(exp(x))) over axes, computed without the overflow of exp.

    Args:
        x: floating, any shape.
        axis: which axes: an int or a tuple, negative ones counted from the last; None: all.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        TypeError: `axis` is of another kind.
        ValueError: an axis is given twice.
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has no such axis.

    Example:
        >>> F.logsumexp(np.array([[0.0, 1000.0]]), axis=1).array
        array([1000.])

    Source: `chainer.functions.logsumexp` of Chainer 7.8.1.
    """
    return _logsumexp(x, axis)
