"""Decay at given times."""

from compatgrad.chainer.training.extensions import _shift


class MultistepShift(_shift.OptimizerExtension):
    """Multiplies an optimizer's attribute, at first `init`, by `gamma` at each call numbered in `step_value`.

    `init`: None for the optimizer's value. `optimizer`: by default the main one.
    """

    def __init__(self, attr, gamma, step_value, init, optimizer=None):
        super().__init__(attr, optimizer)
        self._gamma = gamma
        self._step_value = step_value
        self._init = init
        self._stepvalue_size = len(step_value)
        self._current_step = 0

    def initialize(self, trainer):
        if self._init is None:
            self._init = self._get_value(trainer)
        else:
            self._set_value(trainer, self._init)

    def __call__(self, trainer):
        self._t += 1
        step = self._current_step
        if step < self._stepvalue_size and self._t >= self._step_value[step]:
            self._current_step += 1
        self._set_value(trainer, self._init * self._gamma**self._current_step)

    def serialize(self, serializer):
        super().serialize(serializer)
        self._current_step = serializer("_current_step", self._current_step)
