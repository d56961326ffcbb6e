"""Exponential decay."""

from compatgrad.chainer.training.extensions import _shift


class ExponentialShift(_shift.Shift):
    """Sets an optimizer's attribute to ``init * rate ** t`` at the t-th call. ValueError for a negative rate.

    `init`: by default the optimizer's value. `target`: where to stop. `optimizer`: by default the main one.
    """

    def __init__(self, attr, rate, init=None, target=None, optimizer=None):
        if rate < 0:
            raise ValueError(f"ExponentialShift does not support negative rate. Actual: {rate}")
        super().__init__(attr, init, target, optimizer)
        self._rate = rate
        self._increasing = rate > 1

    def _compute_value(self, t):
        return self._init * self._rate**t
