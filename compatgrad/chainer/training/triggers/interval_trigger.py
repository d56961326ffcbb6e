"""Triggers at intervals."""

from compatgrad.chainer.training.triggers import _progress


class IntervalTrigger(_progress.ProgressTrigger):
    """Fires each time that `period` iterations or epochs, a fraction of one included, are completed.

    `unit`: "iteration" or "epoch", ValueError otherwise.
    """

    def __init__(self, period, unit):
        super().__init__(unit)
        self.period = period
        self.count = 0

    def __call__(self, trainer):
        previous, current = self._advance(trainer.updater)
        number = current // self.period
        if self.unit == "epoch":
            self.count = number
        return previous // self.period != number

    def get_training_length(self):
        """``(period, unit)``: the length of a training that this trigger stops."""
        return self.period, self.unit

    def __str__(self):
        return f"{type(self).__name__}({self.period}, '{self.unit}')"
