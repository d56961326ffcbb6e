"""Softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Softmax(_native.AlongAxis):
    op = "softmax"


@_native.function(Softmax)
def softmax(x: VariableOrArray, axis: int = 1) -> Variable:
    """exp(x) / sum(exp(x)) along `axis`.

    Args:
        x: floating, any shape that has `axis`.
        axis: the axis of the classes.

    Returns:
        Variable of the shape and dtype of `x`; sums along `axis` are 1.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or has no such axis.

    Example:
        >>> F.softmax(np.array([[0.0, 0.0, 1000.0], [1.0, 1.0, 1.0]])).array
        array([[0.        , 0.        , 1.        ],
               [0.33333333, 0.33333333, 0.33333333]])

    Source: `chainer.functions.softmax` of Chainer 7.8.1.
    """
    return Softmax(axis).apply((x,))[0]
