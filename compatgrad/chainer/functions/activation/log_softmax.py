"""Logarithm of softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class LogSoftmax(_native.AlongAxis):
    op = "log_softmax"


@_native.function(LogSoftmax)
def log_softmax(x: VariableOrArray, axis: int = 1) -> Variable:
    """log(softmax(x)) along `axis`, computed without the overflow of exp.

    Args:
        x: floating, any shape that has `axis`.
        axis: the axis of the classes.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or has no such axis.

    Example:
        >>> F.log_softmax(np.array([[0.0, 1000.0]])).array
        array([[-1000.,     0.]])

    Source: `chainer.functions.log_softmax` of Chainer 7.8.1.
    """
    return LogSoftmax(axis).apply((x,))[0]


def logsumexp(x: NdArray, axis: int) -> NdArray:
    """log(sum(exp(x))) along `axis`, of an array; programs use it to compute losses of their own.

    Args:
        x: floating, any shape that has `axis`.
        axis: the axis that is summed over.

    Returns:
        Array of the dtype of `x`, in which `axis` has length 1.

    Raises:
        numpy.exceptions.AxisError: `x` has no such axis.

    Example:
        >>> F.activation.log_softmax.logsumexp(np.array([[0.0, 1000.0]]), axis=1)
        array([[1000.]])

    Source: `chainer.functions.activation.log_softmax.logsumexp` of Chainer 7.8.1.
    """
    xp = backend.get_array_module(x)
    largest = x.max(axis=axis, keepdims=True)
    return largest + xp.log(xp.exp(x - largest).sum(axis=axis, keepdims=True))


def _log_softmax(x, axis=1):
    """`log_softmax` of an array, as an array."""
    return x - logsumexp(x, axis)
