"""Triggers at given iterations or epochs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from compatgrad.chainer.training.triggers import _progress

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


class ManualScheduleTrigger(_progress.ProgressTrigger):
    """Fires at given iterations or epochs. Its attribute `finished` is True when it will not fire again.

    Args:
        points: a number of iterations or epochs, fractions included, or a list of them.
        unit: "iteration" or "epoch".

    Raises:
        ValueError: `unit` is neither "iteration" nor "epoch".

    Example:
        >>> from types import SimpleNamespace
        >>> trigger = chainer.training.triggers.ManualScheduleTrigger([1, 3], "iteration")
        >>> [trigger(SimpleNamespace(updater=SimpleNamespace(iteration=i))) for i in (1, 2, 3, 4)], trigger.finished
        ([True, False, True, False], True)

    Source: `chainer.training.triggers.ManualScheduleTrigger` of Chainer 7.8.1.
    """

    def __init__(self, points: float | list[float], unit: str) -> None:
        super().__init__(unit)
        self.points = points if isinstance(points, list) else [points]
        self.finished = False
        self._finished_is_unknown = False

    def __call__(self, trainer: Trainer) -> bool:
        previous, current = self._advance(trainer.updater)
        fire = any(previous < point <= current for point in self.points)
        if (fire or self._finished_is_unknown) and current >= max(self.points):
            self.finished = True
        self._finished_is_unknown = False
        return fire

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the progress and `finished`; warns for an older snapshot, which lacks them."""
        super().serialize(serializer)
        try:
            self.finished = serializer("finished", self.finished)
        except KeyError:
            warnings.warn(
                "The flag of finished is not saved. ManualScheduleTrigger set the flag to `False` "
                "to force initialization and reset in next `__call__`.",
                stacklevel=2,
            )
            self.finished = False
            self._finished_is_unknown = True
