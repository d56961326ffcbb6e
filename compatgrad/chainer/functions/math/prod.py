"""Products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.math import _reduction

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Axes, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Prod(_reduction.Reduction):
    op = "prod"


def prod(x: VariableOrArray, axis: Axes = None, keepdims: bool = False) -> Variable:
    """Product over axes.

    Args:
        x: floating, any shape.
        axis: which axes: an int or a tuple, negative ones counted from the last; None: all.
        keepdims: True keeps the axes, with length 1.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        TypeError: `axis` is of another kind.
        ValueError: an axis is given twice.
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has no such axis.

    Example:
        >>> F.prod(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0).array
        array([3., 8.])

    Source: `chainer.functions.prod` of Chainer 7.8.1.
    """
    return Prod(axis, keepdims).apply((x,))[0]
