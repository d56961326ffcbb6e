"""Base classes of the extensions that change an attribute of an optimizer."""

import numpy as np

from compatgrad.chainer.training import extension


class OptimizerExtension(extension.Extension):
    """Base class of extensions that set the attribute `attr` of `optimizer`, by default of the main one. ``_t`` counts
    the calls.
    """

    def __init__(self, attr, optimizer):
        self._attr = attr
        self._optimizer = optimizer
        self._t = 0

    def _get_optimizer(self, trainer):
        return self._optimizer or trainer.updater.get_optimizer("main")

    def _get_value(self, trainer):
        return getattr(self._get_optimizer(trainer), self._attr)

    def _set_value(self, trainer, value):
        setattr(self._get_optimizer(trainer), self._attr, value)

    def _first_value(self, trainer, value):
        """Sets the value before the first call, by default the optimizer's, and returns it."""
        if value is None:
            return self._get_value(trainer)
        self._set_value(trainer, value)
        return value

    def serialize(self, serializer):
        self._t = serializer("_t", self._t)


class Shift(OptimizerExtension):
    """Base class of such extensions whose value is a function of the number of calls, ``_compute_value(t)``.

    `init`: value before the first call, by default the optimizer's. `target`: value at which the
    shift ends. ``_increasing`` says whether the value moves away from 0.
    """

    _increasing = False

    def __init__(self, attr, init, target, optimizer):
        super().__init__(attr, optimizer)
        self._init = init
        self._target = target
        self._last_value = None

    def initialize(self, trainer):
        if self._init is None:
            self._init = self._get_value(trainer)
        self._update_value(trainer, self._init if self._last_value is None else self._last_value)

    def __call__(self, trainer):
        self._t += 1
        value = self._compute_value(self._t)
        if self._target is not None:
            # The ratio is compared, because both value and target may be negative.
            ratio = value / self._target
            if ratio > 1 if self._increasing else ratio < 1:
                value = self._target
        self._update_value(trainer, value)

    def _update_value(self, trainer, value):
        self._set_value(trainer, value)
        self._last_value = value

    def serialize(self, serializer):
        super().serialize(serializer)
        self._last_value = serializer("_last_value", self._last_value)
        if isinstance(self._last_value, np.ndarray):
            self._last_value = self._last_value.item()
