"""A trigger that fires after seconds of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


class TimeTrigger:
    """Fires each time that a number of seconds of training has passed.

    Args:
        period: seconds.

    Example:
        >>> from types import SimpleNamespace
        >>> trigger = chainer.training.triggers.TimeTrigger(60)
        >>> [trigger(SimpleNamespace(elapsed_time=seconds)) for seconds in (30, 61, 90, 150)]
        [False, True, False, True]

    Source: `chainer.training.triggers.TimeTrigger` of Chainer 7.8.1.
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._next_time = period

    def __call__(self, trainer: Trainer) -> bool:
        fire = self._next_time < trainer.elapsed_time
        if fire:
            self._next_time += self._period
        return fire

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the time at which it fires next, in seconds of training."""
        self._next_time = serializer("next_time", self._next_time)
