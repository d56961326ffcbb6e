"""Triggers at intervals."""

from __future__ import annotations

from typing import Any

from compatgrad.chainer.training.triggers import _progress


class IntervalTrigger(_progress.ProgressTrigger):
    """Fires each time that a number of iterations or epochs is completed. Triggers are called after each iteration,
    with the trainer, and return whether to act.

    Args:
        period: number of iterations or epochs; fractions of an epoch are possible.
        unit: "iteration" or "epoch".

    Raises:
        ValueError: `unit` is neither "iteration" nor "epoch".

    Example:
        >>> from types import SimpleNamespace
        >>> trigger = chainer.training.triggers.IntervalTrigger(2, "iteration")
        >>> [trigger(SimpleNamespace(updater=SimpleNamespace(iteration=i))) for i in (1, 2, 3, 4)]
        [False, True, False, True]

    Source: `chainer.training.IntervalTrigger` of Chainer 7.8.1.
    """

    def __init__(self, period: float, unit: str) -> None:
        super().__init__(unit)
        self.period = period
        self.count = 0

    def __call__(self, trainer: Any) -> bool:
        previous, current = self._advance(trainer.updater)
        number = current // self.period
        if self.unit == "epoch":
            self.count = number
        return previous // self.period != number

    def get_training_length(self) -> tuple[float, str]:
        """``(period, unit)``: the length of a training that this trigger stops."""
        return self.period, self.unit

    def __str__(self):
        return f"{type(self).__name__}({self.period}, '{self.unit}')"
