"""Mean absolute error."""

from __future__ import annotations

from compatgrad.chainer.functions.loss import _pairs


class MeanAbsoluteError(_pairs._PairLoss):
    op = "mean_absolute_error"


mean_absolute_error = _pairs.function(
    MeanAbsoluteError, "Mean of |x0 - x1| over all elements", "shape ()", "array(1.75)"
)
