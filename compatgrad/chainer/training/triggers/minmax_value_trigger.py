"""Triggers on the best value so far."""

import operator

from compatgrad.chainer import reporter
from compatgrad.chainer.training import util


class BestValueTrigger:
    """Fires when the mean of an observed value over an interval is the best so far.

    `key`: name of the value. ``compare(best, value)`` tells whether the value is better. `trigger`: the
    interval.
    """

    def __init__(self, key, compare, trigger=(1, "epoch")):
        self._key = key
        self._best_value = None
        self._interval_trigger = util.get_trigger(trigger)
        self._init_summary()
        self._compare = compare

    def __call__(self, trainer):
        observation = trainer.observation
        key = self._key
        if key in observation:
            self._summary.add({key: observation[key]})
        if not self._interval_trigger(trainer):
            return False
        value = float(self._summary.compute_mean()[key])
        self._init_summary()
        if self._best_value is None or self._compare(self._best_value, value):
            self._best_value = value
            return True
        return False

    def _init_summary(self):
        self._summary = reporter.DictSummary()

    def serialize(self, serializer):
        self._interval_trigger.serialize(serializer["interval_trigger"])
        self._summary.serialize(serializer["summary"])
        self._best_value = serializer("best_value", self._best_value)


class MaxValueTrigger(BestValueTrigger):
    """Fires when the mean of an observed value over an interval is the largest so far."""

    def __init__(self, key, trigger=(1, "epoch")):
        super().__init__(key, operator.lt, trigger)


class MinValueTrigger(BestValueTrigger):
    """Fires when the mean of an observed value over an interval is the smallest so far."""

    def __init__(self, key, trigger=(1, "epoch")):
        super().__init__(key, operator.gt, trigger)
