"""Triggers at given times."""

import warnings

from compatgrad.chainer.training.triggers import _progress


class ManualScheduleTrigger(_progress.ProgressTrigger):
    """Fires at `points`, a number of iterations or epochs, fractions included, or a list of them.

    `unit`: "iteration" or "epoch", ValueError otherwise. ``finished`` tells that it will not fire again.
    """

    def __init__(self, points, unit):
        super().__init__(unit)
        self.points = points if isinstance(points, list) else [points]
        self.finished = False
        self._finished_is_unknown = False

    def __call__(self, trainer):
        previous, current = self._advance(trainer.updater)
        fire = any(previous < point <= current for point in self.points)
        if (fire or self._finished_is_unknown) and current >= max(self.points):
            self.finished = True
        self._finished_is_unknown = False
        return fire

    def serialize(self, serializer):
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
