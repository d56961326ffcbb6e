"""Polynomial decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer


class PolynomialShift(_shift.Shift, example=('"lr", 2, 4', "0.5625 0.25 0.0625 0.0")):
    """Sets an attribute of an optimizer to init * max(1 - t / max_count, 0) ** rate: polynomial decay to 0. t is the
    number of its calls, which snapshots contain.

    Args:
        rate: exponent of the decay.
        max_count: number of calls after which the value is 0.
    """

    invoke_before_training = True

    def __init__(
        self,
        attr: str,
        rate: float,
        max_count: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        super().__init__(attr, init, target, optimizer)
        self._rate = rate
        self._max_count = max_count
        self._increasing = rate <= 0

    def _compute_value(self, t):
        return self._init * max(1 - t / self._max_count, 0) ** self._rate
