"""Logarithm of a sum of exponentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._documented import _sharing
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


@_sharing(_reduction.OVER_AXES)
def logsumexp(x: VariableOrArray, axis: Axes = None) -> Variable:
    """log(sum(exp(x))) over axes, computed without the overflow of exp.

    Example:
        >>> F.logsumexp(np.array([[0.0, 1000.0]]), axis=1).array
        array([1000.])

    Source: `chainer.functions.logsumexp` of Chainer 7.8.1.
    """
    return _logsumexp(x, axis)
