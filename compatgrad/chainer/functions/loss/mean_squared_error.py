"""Mean squared error."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.loss._pairs import PairLoss


class MeanSquaredError(PairLoss):
    op = "mean_squared_error"


def _checked(x0, x1):
    return MeanSquaredError().apply((x0, x1))[0]


_mean_squared_error = frontend.bind("mean_squared_error", _checked)


def mean_squared_error(x0, x1):
    """Mean of (x0 - x1) ** 2 over all elements; raises InvalidType where shapes or dtypes differ."""
    if x0.shape != x1.shape:
        return _checked(x0, x1)
    return _mean_squared_error(x0, x1)
