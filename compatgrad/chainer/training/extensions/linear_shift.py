"""Linear changes."""

from compatgrad.chainer.training.extensions import _shift


class LinearShift(_shift.Shift):
    """Moves an optimizer's attribute through `value_range`, from the first to the last call of `time_range`.

    `optimizer`: by default the main one.
    """

    def __init__(self, attr, value_range, time_range, optimizer=None):
        super().__init__(attr, None, None, optimizer)
        self._value_range = value_range
        self._time_range = time_range

    def initialize(self, trainer):
        self._init = self._compute_value(self._t)
        super().initialize(trainer)

    def _compute_value(self, t):
        t1, t2 = self._time_range
        v1, v2 = self._value_range
        if t <= t1:
            return v1
        if t >= t2:
            return v2
        return v1 + (t - t1) / (t2 - t1) * (v2 - v1)
