"""Mean squared error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.loss._pairs import _PairLoss

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class MeanSquaredError(_PairLoss):
    documented = "mean_squared_error"
    op = "mean_squared_error"


def _checked(x0, x1):
    return MeanSquaredError().apply((x0, x1))[0]


_mean_squared_error = frontend.bind("mean_squared_error", _checked)


def mean_squared_error(x0: VariableOrArray, x1: VariableOrArray) -> Variable:
    """Mean of (x0 - x1) ** 2 over all elements.

    Args:
        x0, x1: floating, of one dtype and shape.

    Returns:
        Variable of shape () and the dtype of `x0`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes differ, or `x0` is not floating-point.

    Example:
        >>> F.mean_squared_error(np.array([1.0, 2.0]), np.array([3.0, 0.5])).array
        array(3.125)

    Source: `chainer.functions.mean_squared_error` of Chainer 7.8.1.
    """
    if x0.shape != x1.shape:
        return _checked(x0, x1)
    return _mean_squared_error(x0, x1)
