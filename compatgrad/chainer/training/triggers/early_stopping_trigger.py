"""The trigger that stops a training that makes no progress."""

from __future__ import annotations

import operator
import warnings
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import reporter
from compatgrad.chainer.training import util
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from compatgrad.chainer.training.trainer import Trainer


class EarlyStoppingTrigger:
    """Stops a training that makes no progress: as `stop_trigger` of a `Trainer`, it fires when, `patience` times in a
    row, the mean of a value over an interval was not better than the best one so far.

    Args:
        check_trigger: the interval, a trigger or a pair of number and unit.
        monitor: name of the observed value. An interval at whose end it is not observed is skipped with a warning.
        patience: number of intervals without progress; None is 3.
        mode: "max" or "min", whether large or small values are good; "auto" is "max" for names that contain "accuracy",
            else "min".
        verbose: True prints when it stops the training.
        max_trigger: the greatest length of the training, a trigger or a pair of number and unit.
        **kwargs: `patients`, an old name of `patience`.

    Raises:
        TypeError: both `patience` and `patients` are given, or an unknown keyword is.

    Example:
        >>> from types import SimpleNamespace
        >>> each, at_most = (1, "iteration"), (9, "iteration")
        >>> trigger = chainer.training.triggers.EarlyStoppingTrigger(each, "loss", patience=2, max_trigger=at_most)
        >>> def trainer(iteration, loss):
        ...     return SimpleNamespace(updater=SimpleNamespace(iteration=iteration), observation={"loss": loss})
        >>> [trigger(trainer(i, loss)) for i, loss in enumerate([3.0, 2.0, 4.0, 5.0], 1)]
        [False, False, False, True]

    Source: `chainer.training.triggers.EarlyStoppingTrigger` of Chainer 7.8.1.
    """

    def __init__(
        self,
        check_trigger: Any = (1, "epoch"),
        monitor: str = "main/loss",
        patience: int | None = None,
        mode: str = "auto",
        verbose: bool = False,
        max_trigger: Any = (100, "epoch"),
        **kwargs: Any,
    ) -> None:
        (patients,) = argument.parse_kwargs(kwargs, ("patients", None))
        if patients is not None and patience is not None:
            raise TypeError(
                "Both 'patience' and 'patients' arguments are specified. 'patients' is an alias "
                "of the former. Specify only 'patience'."
            )
        given = [n for n in (patience, patients) if n is not None]
        self.count = 0
        self.patience = given[0] if given else 3
        self.monitor = monitor
        self.verbose = verbose
        self.already_warning = False
        self._max_trigger = util.get_trigger(max_trigger)
        self._interval_trigger = util.get_trigger(check_trigger)
        self._init_summary()

        if mode == "max" or (mode != "min" and "accuracy" in monitor):
            self._compare = operator.gt
            self.best = float("-inf")
        else:
            self._compare = operator.lt
            self.best = float("inf")
        if verbose:
            print(f"early stopping: operator is {'greater' if self._compare is operator.gt else 'less'}")

    def __call__(self, trainer: Trainer) -> bool:
        observation = trainer.observation
        if self.monitor in observation:
            self._summary.add({self.monitor: observation[self.monitor]})
        if self._max_trigger(trainer):
            return True
        if not self._interval_trigger(trainer):
            return False
        if self.monitor not in observation:
            warnings.warn(f"{self.monitor} is not in observation", stacklevel=2)
            return False
        value = self._summary.compute_mean()[self.monitor]
        self._init_summary()
        if self._compare(value, self.best):
            self.best = value
            self.count = 0
        else:
            self.count += 1
        stop = self._stop_condition()
        if stop and self.verbose:
            print(f"Epoch {trainer.updater.epoch}: early stopping")
        return stop

    def _stop_condition(self):
        return self.count >= self.patience

    def _init_summary(self):
        self._summary = reporter.DictSummary()

    def get_training_length(self) -> tuple[float, str]:
        """The greatest length of the training, which is that of `max_trigger`."""
        return self._max_trigger.get_training_length()
