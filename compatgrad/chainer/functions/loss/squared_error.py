"""Squared error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.loss._pairs import _PairLoss

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class SquaredError(_PairLoss):
    documented = "squared_error"
    op = "squared_error"


def _checked(x0, x1):
    return SquaredError().apply((x0, x1))[0]


_squared_error = frontend.bind("squared_error", _checked)


def squared_error(x0: VariableOrArray, x1: VariableOrArray) -> Variable:
    """(x0 - x1) ** 2, element-wise.

    Args:
        x0, x1: floating, of one dtype and shape.

    Returns:
        Variable of the shape and dtype of `x0`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes differ, or `x0` is not floating-point.

    Example:
        >>> F.squared_error(np.array([1.0, 2.0]), np.array([3.0, 0.5])).array
        array([4.  , 2.25])

    Source: `chainer.functions.squared_error` of Chainer 7.8.1.
    """
    if x0.shape != x1.shape:
        return _checked(x0, x1)
    return _squared_error(x0, x1)


def squared_difference(x1: VariableOrArray, x2: VariableOrArray) -> Variable:
    """`squared_error` under its other name: (x1 - x2) ** 2, element-wise.

    Args:
        x1, x2: floating, of one dtype and shape.

    Returns:
        Variable of the shape and dtype of `x1`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes differ, or `x1` is not floating-point.

    Example:
        >>> F.squared_difference(np.array([1.0, 2.0]), np.array([3.0, 0.5])).array
        array([4.  , 2.25])

    Source: `chainer.functions.squared_difference` of Chainer 7.8.1.
    """
    return squared_error(x1, x2)
