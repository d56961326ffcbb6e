"""An extension that writes a training log."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import (
    reporter,
    utils,  # noqa: F401  programs find it here, as in Chainer
)
from compatgrad.chainer import serializer as serializer_module
from compatgrad.chainer.training import extension
from compatgrad.chainer.training import trigger as trigger_module
from compatgrad.chainer.utils import argument
from compatgrad.core.files import replacing

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


class LogReport(extension.Extension):
    """Collects the means of observed values over intervals, and writes them to a JSON file. Its attribute `log` is the
    list of entries, dicts that also have "epoch", "iteration" and "elapsed_time".

    Args:
        keys: names of the values; None takes all.
        trigger: the interval, a trigger or a pair of number and unit.
        postprocess: called with each new entry, which it may change.
        filename: name of the file in the trainer's output folder, formatted with the entry's values; None is "log".
        **kwargs: `log_name`: old name of `filename`; None there writes no file.

    Raises:
        TypeError: another keyword is given.

    Example:
        >>> from compatgrad.chainer import testing
        >>> report = chainer.training.make_extension(priority=300)(lambda trainer: chainer.report({"loss": 3.0}))
        >>> log = chainer.training.extensions.LogReport(trigger=(2, "iteration"))
        >>> trainer = testing.get_trainer_with_mock_updater((4, "iteration"), extensions=[report, log])
        >>> trainer.run()
        >>> [(entry["iteration"], entry["loss"]) for entry in log.log]
        [(2, 3.0), (4, 3.0)]

    Source: `chainer.training.extensions.LogReport` of Chainer 7.8.1.
    """

    def __init__(
        self,
        keys: Iterable[str] | None = None,
        trigger: Any = (1, "epoch"),
        postprocess: Callable[[dict[str, Any]], None] | None = None,
        filename: str | None = None,
        **kwargs: Any,
    ) -> None:
        (log_name,) = argument.parse_kwargs(kwargs, ("log_name", "log"))
        self._keys = keys
        self._trigger = trigger_module.get_trigger(trigger)
        self._postprocess = postprocess
        self._log = []
        self._log_name = log_name if filename is None else filename
        self._init_summary()

    def __call__(self, trainer: Trainer) -> None:
        observation = trainer.observation
        if self._keys is not None:
            observation = {k: observation[k] for k in self._keys if k in observation}
        self._summary.add(observation)
        if not (trainer.is_before_training or self._trigger(trainer)):
            return

        entry = {name: float(value) for name, value in self._summary.compute_mean().items()}
        entry["epoch"] = trainer.updater.epoch
        entry["iteration"] = trainer.updater.iteration
        entry["elapsed_time"] = trainer.elapsed_time
        if self._postprocess is not None:
            self._postprocess(entry)
        self._log.append(entry)
        if self._log_name is not None:
            self._write(os.path.join(trainer.out, self._log_name.format(**entry)))
        self._init_summary()

    def _write(self, path):
        with replacing(path, "w") as f:  # so that readers never see an incomplete file
            json.dump(self._log, f, indent=4)

    @property
    def log(self):
        """The entries so far, a list of dicts."""
        return self._log

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the entries and the means."""
        if hasattr(self._trigger, "serialize"):
            self._trigger.serialize(serializer["_trigger"])
        try:
            self._summary.serialize(serializer["_summary"])
        except KeyError:
            warnings.warn("The statistics are not saved.", stacklevel=2)
        # Snapshots contain the log as JSON text, which may round numbers slightly.
        if isinstance(serializer, serializer_module.Serializer):
            serializer("_log", json.dumps(self._log))
        else:
            log = json.loads(serializer("_log", ""))
            if not isinstance(log, list):
                raise ValueError(f"LogReport: expected a list of entries in '_log', found a {type(log).__name__}")
            self._log = log

    def _init_summary(self):
        self._summary = reporter.DictSummary()
