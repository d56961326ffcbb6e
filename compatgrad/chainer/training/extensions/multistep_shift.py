"""Decay at given calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training.extensions import _shift

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer.optimizer import Optimizer
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


class MultistepShift(_shift.OptimizerExtension, example=('"lr", 0.5, [2, 3], 1.0', "1.0 0.5 0.25 0.25")):
    """Multiplies an attribute of an optimizer by a factor at given calls. t is the number of its calls, which snapshots
    contain.

    Args:
        gamma: the factor.
        step_value: numbers of the calls, ascending.
    """

    def __init__(
        self, attr: str, gamma: float, step_value: Sequence[int], init: float | None, optimizer: Optimizer | None = None
    ) -> None:
        super().__init__(attr, optimizer)
        self._gamma = gamma
        self._step_value = step_value
        self._init = init
        self._stepvalue_size = len(step_value)
        self._current_step = 0

    def initialize(self, trainer: Trainer) -> None:
        """Sets the first value."""
        self._init = self._first_value(trainer, self._init)

    def __call__(self, trainer: Trainer) -> None:
        self._t += 1
        step = self._current_step
        if step < self._stepvalue_size and self._t >= self._step_value[step]:
            self._current_step += 1
        self._set_value(trainer, self._init * self._gamma**self._current_step)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the number of calls and of steps."""
        super().serialize(serializer)
        self._current_step = serializer("_current_step", self._current_step)
