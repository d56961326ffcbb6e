"""Inverse decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer


class InverseShift(_shift.Shift):
    """Sets an attribute of an optimizer to init * (1 + gamma * t) ** -power: inverse decay. t is the number of its
    calls, which snapshots contain.

    Args:
        attr: name of the attribute, as "lr" or "alpha".
        gamma: speed of the decay.
        power: exponent of the decay; a negative one makes the value grow.
        init: value before the first call; None takes the optimizer's.
        target: value at which the shift ends; None for no end.
        optimizer: the optimizer; None takes the main one of the trainer's updater.

    Raises:
        ValueError: `gamma` is negative.

    Example:
        >>> opt = chainer.optimizers.SGD(lr=1.0)
        >>> shift = chainer.training.extensions.InverseShift("lr", 1, 1, optimizer=opt)
        >>> shift.initialize(None)
        >>> for _ in range(3):
        ...     shift(None)
        ...     print(opt.lr)
        0.5
        0.3333333333333333
        0.25

    Source: `chainer.training.extensions.InverseShift` of Chainer 7.8.1.
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
