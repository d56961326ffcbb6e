"""Absolute error."""

from __future__ import annotations

from compatgrad.chainer.functions.loss import _pairs


class AbsoluteError(_pairs._PairLoss):
    op = "absolute_error"


absolute_error = _pairs.function(AbsoluteError, "|x0 - x1|, element-wise", "the shape", "array([2. , 1.5])")
