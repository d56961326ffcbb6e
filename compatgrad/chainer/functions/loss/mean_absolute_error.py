"""Mean absolute error."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.loss._pairs import PairLoss


class MeanAbsoluteError(PairLoss):
    op = "mean_absolute_error"


def _checked(x0, x1):
    return MeanAbsoluteError().apply((x0, x1))[0]


_mean_absolute_error = frontend.bind("mean_absolute_error", _checked)


def mean_absolute_error(x0, x1):
    """Mean of |x0 - x1| over all elements; raises InvalidType where shapes or dtypes differ."""
    if x0.shape != x1.shape:
        return _checked(x0, x1)
    return _mean_absolute_error(x0, x1)
