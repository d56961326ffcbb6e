"""Exponential decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer


class ExponentialShift(_shift.Shift, example=('"lr", 0.5, target=0.25', "0.5 0.25 0.25")):
    """Sets an attribute of an optimizer to init * rate ** t: exponential decay of a learning rate. t is the number of
    its calls, which snapshots contain.

    Args:
        rate: factor of each call.

    Raises:
        ValueError: `rate` is negative.
    """

    def __init__(
        self,
        attr: str,
        rate: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        if rate < 0:
            raise ValueError(f"ExponentialShift does not support negative rate. Actual: {rate}")
        super().__init__(attr, init, target, optimizer)
        self._rate = rate
        self._increasing = rate > 1

    def _compute_value(self, t):
        return self._init * self._rate**t
