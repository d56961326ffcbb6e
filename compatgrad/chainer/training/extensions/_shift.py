"""Base classes of the extensions that change an attribute of an optimizer."""

import inspect

import numpy as np

from compatgrad.chainer._documented import sections_of
from compatgrad.chainer.training import extension

_ARGUMENTS = {
    "attr": 'name of the attribute, as "lr" or "alpha".',
    "init": "value before the first call; None takes the optimizer's.",
    "target": "value at which the shift ends; None for no end.",
    "optimizer": "the optimizer; None takes the main one of the trainer's updater.",
}
_EXAMPLE = """Example:
    >>> opt = chainer.optimizers.SGD(lr=1.0)
    >>> shift = chainer.training.extensions.{name}({given}, optimizer=opt)
    >>> shift.initialize(None)
    >>> for _ in range({number}):
    ...     shift(None)
    ...     print(opt.lr)
    {values}

Source: `chainer.training.extensions.{name}` of Chainer 7.8.1."""


def _completed(cls, given, values):
    """The docstring of `cls`, completed by the arguments that all have, an example and the source. In the example the
    shift is made with the arguments `given`; `values` are the learning rates after its calls.
    """
    head, sections = sections_of(inspect.cleandoc(cls.__doc__))
    code = cls.__init__.__code__
    own = dict(line.strip().split(": ", 1) for line in sections.get("Args", "").splitlines() if line)
    described = _ARGUMENTS | own
    arguments = "\n".join(f"    {n}: {described[n]}" for n in code.co_varnames[1 : code.co_argcount])
    blocks = [head.rstrip(), f"Args:\n{arguments}"]
    if "Raises" in sections:
        blocks.append(f"Raises:\n{sections['Raises'].rstrip()}")
    values = values.split()
    blocks.append(_EXAMPLE.format(name=cls.__name__, given=given, number=len(values), values="\n    ".join(values)))
    return "\n\n".join(blocks)


class OptimizerExtension(extension.Extension):
    """Base class of extensions that set the attribute `attr` of `optimizer`, by default of the main one. ``_t`` counts
    the calls.
    """

    def __init_subclass__(cls, example=None, **kwargs):
        """`example`: the arguments and values of the docstring's example, see `_completed`."""
        super().__init_subclass__(**kwargs)
        if example is not None and cls.__doc__:  # python -OO removes docstrings
            cls.__doc__ = _completed(cls, *example)

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
