"""Products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._documented import _sharing
from compatgrad.chainer.functions.math import _reduction

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Axes, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Prod(_reduction.Reduction):
    op = "prod"


@_sharing(_reduction.OVER_AXES)
def prod(x: VariableOrArray, axis: Axes = None, keepdims: bool = False) -> Variable:
    """Product over axes.

    Example:
        >>> F.prod(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0).array
        array([3., 8.])

    Source: `chainer.functions.prod` of Chainer 7.8.1.
    """
    return Prod(axis, keepdims).apply((x,))[0]
