"""The trigger that stops a training that makes no progress."""

import operator
import warnings

from compatgrad.chainer import reporter
from compatgrad.chainer.training import util
from compatgrad.chainer.utils import argument


class EarlyStoppingTrigger:
    """Fires when the mean of `monitor` over `check_trigger` was not the best so far `patience` times.

    `mode`: "max", "min" or "auto" (the largest is best for names that contain "accuracy"). `max_trigger`:
    fires in any case. ``patients`` is an old name of `patience` (3 by default); TypeError for both.
    """

    def __init__(
        self,
        check_trigger=(1, "epoch"),
        monitor="main/loss",
        patience=None,
        mode="auto",
        verbose=False,
        max_trigger=(100, "epoch"),
        **kwargs,
    ):
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

    def __call__(self, trainer):
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

    def get_training_length(self):
        """The greatest length of the training: that of `max_trigger`."""
        return self._max_trigger.get_training_length()
