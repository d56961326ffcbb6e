"""Decay in equal steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer


class StepShift(_shift.Shift, example=('"lr", 0.5, 2', "1.0 0.5 0.5 0.25")):
    """Sets an attribute of an optimizer to init * gamma ** (t // step): decay in equal steps. t is the number of its
    calls, which snapshots contain.

    Args:
        gamma: factor of each step.
        step: number of calls in a step.
    """

    def __init__(
        self,
        attr: str,
        gamma: float,
        step: int,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        super().__init__(attr, init, target, optimizer)
        self._gamma = gamma
        self._step = step
        self._increasing = gamma > 1

    def _compute_value(self, t):
        return self._init * self._gamma ** (t // self._step)
