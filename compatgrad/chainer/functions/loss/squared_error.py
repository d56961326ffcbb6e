"""Squared error."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.loss._pairs import PairLoss


class SquaredError(PairLoss):
    op = "squared_error"


def _checked(x0, x1):
    return SquaredError().apply((x0, x1))[0]


_squared_error = frontend.bind("squared_error", _checked)


def squared_error(x0, x1):
    """(x0 - x1) ** 2, element-wise; raises InvalidType where shapes or dtypes differ."""
    if x0.shape != x1.shape:
        return _checked(x0, x1)
    return _squared_error(x0, x1)


def squared_difference(x1, x2):
    """`squared_error` under its other name."""
    return squared_error(x1, x2)
