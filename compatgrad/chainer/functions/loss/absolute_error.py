"""Absolute error."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.loss._pairs import PairLoss


class AbsoluteError(PairLoss):
    op = "absolute_error"


def _checked(x0, x1):
    return AbsoluteError().apply((x0, x1))[0]


_absolute_error = frontend.bind("absolute_error", _checked)


def absolute_error(x0, x1):
    """|x0 - x1|, element-wise; raises InvalidType where shapes or dtypes differ."""
    if x0.shape != x1.shape:
        return _checked(x0, x1)
    return _absolute_error(x0, x1)
