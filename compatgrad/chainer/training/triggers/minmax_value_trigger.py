"""Triggers that fire for the best value so far."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import reporter
from compatgrad.chainer.training import util

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


class BestValueTrigger:
    """Fires at the end of an interval where the mean of an observed value over that interval is the best so far. The
    first interval always counts as the best.

    Args:
        key: name of the observed value, as "validation/main/loss".
        compare: called with the best mean so far and a new one; returns whether the new one is better.
        trigger: the interval: a trigger, or a pair of number and unit, "iteration" or "epoch".

    Raises:
        KeyError: when called, the value was not observed in the interval.

    Example:
        >>> from types import SimpleNamespace
        >>> trigger = chainer.training.triggers.BestValueTrigger("loss", lambda best, new: new < best, (1, "iteration"))
        >>> def trainer(iteration, loss):
        ...     return SimpleNamespace(updater=SimpleNamespace(iteration=iteration), observation={"loss": loss})
        >>> [trigger(trainer(i, loss)) for i, loss in enumerate([3.0, 4.0, 2.0], 1)]
        [True, False, True]

    Source: `chainer.training.triggers.BestValueTrigger` of Chainer 7.8.1.
    """

    def __init__(self, key: str, compare: Callable[[float, float], bool], trigger: Any = (1, "epoch")) -> None:
        self._key = key
        self._best_value = None
        self._interval_trigger = util.get_trigger(trigger)
        self._init_summary()
        self._compare = compare

    def __call__(self, trainer: Trainer) -> bool:
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

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the best mean, and the interval with its values."""
        self._interval_trigger.serialize(serializer["interval_trigger"])
        self._summary.serialize(serializer["summary"])
        self._best_value = serializer("best_value", self._best_value)


class MaxValueTrigger(BestValueTrigger):
    """Fires at the end of an interval where the mean of an observed value over that interval is the largest so far.

    Args:
        key: name of the observed value, as "validation/main/accuracy".
        trigger: the interval: a trigger, or a pair of number and unit, "iteration" or "epoch".

    Raises:
        KeyError: when called, the value was not observed in the interval.

    Example:
        >>> from types import SimpleNamespace
        >>> trigger = chainer.training.triggers.MaxValueTrigger("accuracy", (1, "iteration"))
        >>> def trainer(iteration, accuracy):
        ...     return SimpleNamespace(updater=SimpleNamespace(iteration=iteration), observation={"accuracy": accuracy})
        >>> [trigger(trainer(i, accuracy)) for i, accuracy in enumerate([0.5, 0.25, 0.75], 1)]
        [True, False, True]

    Source: `chainer.training.triggers.MaxValueTrigger` of Chainer 7.8.1.
    """

    def __init__(self, key: str, trigger: Any = (1, "epoch")) -> None:
        super().__init__(key, operator.lt, trigger)


class MinValueTrigger(BestValueTrigger):
    """Fires at the end of an interval where the mean of an observed value over that interval is the smallest so far:
    `trainer.extend(snapshot, trigger=MinValueTrigger("validation/main/loss"))` keeps the best model.

    Args:
        key: name of the observed value, as "validation/main/loss".
        trigger: the interval: a trigger, or a pair of number and unit, "iteration" or "epoch".

    Raises:
        KeyError: when called, the value was not observed in the interval.

    Example:
        >>> from types import SimpleNamespace
        >>> trigger = chainer.training.triggers.MinValueTrigger("loss", (1, "iteration"))
        >>> def trainer(iteration, loss):
        ...     return SimpleNamespace(updater=SimpleNamespace(iteration=iteration), observation={"loss": loss})
        >>> [trigger(trainer(i, loss)) for i, loss in enumerate([3.0, 4.0, 2.0], 1)]
        [True, False, True]

    Source: `chainer.training.triggers.MinValueTrigger` of Chainer 7.8.1.
    """

    def __init__(self, key: str, trigger: Any = (1, "epoch")) -> None:
        super().__init__(key, operator.gt, trigger)
