"""Squared error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.loss import _pairs

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class SquaredError(_pairs._PairLoss):
    op = "squared_error"


squared_error = _pairs.function(SquaredError, "(x0 - x1) ** 2, element-wise", "the shape", "array([4.  , 2.25])")


def squared_difference(x1: VariableOrArray, x2: VariableOrArray) -> Variable:
    """Another name of `squared_error`: (x1 - x2) ** 2, element-wise.

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
