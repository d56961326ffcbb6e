"""Inverse decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer


class InverseShift(_shift.Shift, example=('"lr", 1, 1', "0.5 0.3333333333333333 0.25")):
    """Sets an attribute of an optimizer to init * (1 + gamma * t) ** -power: inverse decay. t is the number of its
    calls, which snapshots contain.

    Args:
        gamma: speed of the decay.
        power: exponent of the decay; a negative one makes the value grow.

    Raises:
        ValueError: `gamma` is negative.
    """

    def __init__(
        self,
        attr: str,
        gamma: float,
        power: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        if gamma < 0:
            raise ValueError(f"InverseShift does not support negative gamma. Actual: {gamma}")
        super().__init__(attr, init, target, optimizer)
        self._gamma = gamma
        self._power = power
        self._increasing = power < 0

    def _compute_value(self, t):
        return self._init * (1 + self._gamma * t) ** -self._power
