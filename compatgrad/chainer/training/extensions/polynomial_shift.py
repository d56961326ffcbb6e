"""Polynomial decay."""

from compatgrad.chainer.training.extensions import _shift


class PolynomialShift(_shift.Shift):
    """Sets an optimizer's attribute to ``init * (1 - t / max_count) ** rate`` at the t-th call.

    `init`: by default the optimizer's value. `target`: where to stop. `optimizer`: by default the main one.
    """

    invoke_before_training = True

    def __init__(self, attr, rate, max_count, init=None, target=None, optimizer=None):
        super().__init__(attr, init, target, optimizer)
        self._rate = rate
        self._max_count = max_count
        self._increasing = rate <= 0

    def _compute_value(self, t):
        return self._init * max(1 - t / self._max_count, 0) ** self._rate
