"""Absolute error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.loss._pairs import _PairLoss

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class AbsoluteError(_PairLoss):
    documented = "absolute_error"
    op = "absolute_error"


def _checked(x0, x1):
    return AbsoluteError().apply((x0, x1))[0]


_absolute_error = frontend.bind("absolute_error", _checked)


def absolute_error(x0: VariableOrArray, x1: VariableOrArray) -> Variable:
    """|x0 - x1|, element-wise.

    Args:
        x0, x1: floating, of one dtype and shape.

    Returns:
        Variable of the shape and dtype of `x0`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes differ, or `x0` is not floating-point.

    Example:
        >>> F.absolute_error(np.array([1.0, 2.0]), np.array([3.0, 0.5])).array
        array([2. , 1.5])

    Source: `chainer.functions.absolute_error` of Chainer 7.8.1.
    """
    if x0.shape != x1.shape:
        return _checked(x0, x1)
    return _absolute_error(x0, x1)
