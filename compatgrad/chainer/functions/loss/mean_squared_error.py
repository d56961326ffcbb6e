"""Mean squared error."""

from __future__ import annotations

from compatgrad.chainer.functions.loss import _pairs


class MeanSquaredError(_pairs._PairLoss):
    op = "mean_squared_error"


mean_squared_error = _pairs.function(
    MeanSquaredError, "Mean of (x0 - x1) ** 2 over all elements", "shape ()", "array(3.125)"
)
