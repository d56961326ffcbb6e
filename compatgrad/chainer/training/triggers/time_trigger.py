"""Triggers by the clock."""


class TimeTrigger:
    """Fires each `period` seconds of training."""

    def __init__(self, period):
        self._period = period
        self._next_time = period

    def __call__(self, trainer):
        fire = self._next_time < trainer.elapsed_time
        if fire:
            self._next_time += self._period
        return fire

    def serialize(self, serializer):
        self._next_time = serializer("next_time", self._next_time)
