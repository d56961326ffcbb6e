"""Decay in equal steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer


class StepShift(_shift.Shift):
    """Sets an attribute of an optimizer to init * gamma ** (t // step): decay in equal steps. t is the number of its
    calls, which snapshots contain.

    Args:
        attr: name of the attribute, as "lr" or "alpha".
        gamma: factor of each step.
        step: number of calls in a step.
        init: value before the first call; None takes the optimizer's.
        target: value at which the shift ends; None for no end.
        optimizer: the optimizer; None takes the main one of the trainer's updater.

    Example:
        >>> opt = chainer.optimizers.SGD(lr=1.0)
        >>> shift = chainer.training.extensions.StepShift("lr", 0.5, 2, optimizer=opt)
        >>> shift.initialize(None)
        >>> for _ in range(4):
        ...     shift(None)
        ...     print(opt.lr)
        1.0
        0.5
        0.5
        0.25

    Source: `chainer.training.extensions.StepShift` of Chainer 7.8.1.
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
