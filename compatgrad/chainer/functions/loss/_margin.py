"""Losses of distances with a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.math.sum import sum as _sum

if TYPE_CHECKING:
    from compatgrad.chainer.variable import Variable


class MarginLoss(_composed.ComposedFunction):
    """A loss for each row, or the mean of the rows."""

    def __init__(self, margin: float, reduce: str = "mean") -> None:
        super().__init__()
        if margin <= 0:
            raise ValueError(f"margin should be positive value. Actual: {margin}")
        _composed.check_reduce(reduce, "mean", "no")
        self.margin = margin
        self.reduce = reduce

    def _reduced(self, loss: Variable) -> Variable:
        return loss if self.reduce == "no" else _sum(loss) / len(loss)
