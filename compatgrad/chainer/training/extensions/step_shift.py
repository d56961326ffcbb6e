"""Decay in equal steps."""

from compatgrad.chainer.training.extensions import _shift


class StepShift(_shift.Shift):
    """Multiplies an optimizer's attribute by `gamma` at every `step`-th call.

    `init`: by default the optimizer's value. `target`: where to stop. `optimizer`: by default the main one.
    """

    def __init__(self, attr, gamma, step, init=None, target=None, optimizer=None):
        super().__init__(attr, init, target, optimizer)
        self._gamma = gamma
        self._step = step
        self._increasing = gamma > 1

    def _compute_value(self, t):
        return self._init * self._gamma ** (t // self._step)
