"""An extension that reports ratios of sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import reporter
from compatgrad.chainer.reporter import _in_double
from compatgrad.chainer.training import extension, util

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


class MicroAverage(extension.Extension):
    """Reports the sum of one observed value over the sum of another, such as the accuracy over batches of different
    sizes.

    Args:
        numerator_key: name of the value in the numerator.
        denominator_key: name of the value in the denominator.
        result_key: name of the ratio.
        trigger: the interval over which values are summed, a trigger or a pair of number and unit.

    Raises:
        ZeroDivisionError: when the extension is called, the denominator is 0.

    Example:
        >>> from types import SimpleNamespace
        >>> average = chainer.training.extensions.MicroAverage("right", "all", "accuracy", (2, "iteration"))
        >>> reporter = chainer.Reporter()
        >>> with reporter:
        ...     for i, right, n in [(1, 3, 4), (2, 0, 2)]:
        ...         observed = {"right": right, "all": n}
        ...         average(SimpleNamespace(observation=observed, updater=SimpleNamespace(iteration=i)))
        >>> reporter.observation
        {'accuracy': 0.5}

    Source: `chainer.training.extensions.MicroAverage` of Chainer 7.8.1.
    """

    priority = extension.PRIORITY_EDITOR

    def __init__(self, numerator_key: str, denominator_key: str, result_key: str, trigger: Any = (1, "epoch")) -> None:
        self._trigger = util.get_trigger(trigger)
        self._numerator_key = numerator_key
        self._denominator_key = denominator_key
        self._result_key = result_key
        self._numerator = 0
        self._denominator = 0

    def __call__(self, trainer: Trainer) -> None:
        observation = trainer.observation
        if self._numerator_key not in observation or self._denominator_key not in observation:
            return
        self._numerator += _in_double(observation[self._numerator_key])
        self._denominator += _in_double(observation[self._denominator_key])
        if self._trigger(trainer):
            result = float(self._numerator) / self._denominator
            self._numerator = 0
            self._denominator = 0
            reporter.report({self._result_key: result})

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the sums."""
        self._numerator = serializer("_numerator", self._numerator)
        self._denominator = serializer("_denominator", self._denominator)
