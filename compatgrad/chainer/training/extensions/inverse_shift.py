"""Inverse decay."""

from compatgrad.chainer.training.extensions import _shift


class InverseShift(_shift.Shift):
    """Sets an optimizer's attribute to ``init * (1 + gamma * t) ** -power`` at the t-th call.

    `init`: by default the optimizer's value. `target`: where to stop. `optimizer`: by default the main one.
    Raises ValueError for a negative `gamma`.
    """

    def __init__(self, attr, gamma, power, init=None, target=None, optimizer=None):
        if gamma < 0:
            raise ValueError(f"InverseShift does not support negative gamma. Actual: {gamma}")
        super().__init__(attr, init, target, optimizer)
        self._gamma = gamma
        self._power = power
        self._increasing = power < 0

    def _compute_value(self, t):
        return self._init * (1 + self._gamma * t) ** -self._power
