"""Handlers that save networks, and end training early."""

from __future__ import annotations

import math
import operator
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

from compatgrad.core import notes

from ....metric import CompositeEvalMetric, EvalMetric
from ._events import EpochEnd, TrainBegin, TrainEnd, _Counting


def _comparison(who: str, mode: str, monitor: EvalMetric) -> Callable[[float, float], bool]:
    """The comparison that detects an improvement. mode: 'min', 'max', or 'auto' to decide by the metric's name."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(f"{who} mode {mode} is unknown, fallback to auto mode.", RuntimeWarning, stacklevel=3)
        mode = "auto"
    if mode != "auto":
        return operator.lt if mode == "min" else operator.gt
    notes.note_difference("mode auto")
    name = monitor.get()[0]
    larger = any(word in name.lower() for word in ("acc", "f1"))
    warnings.warn(
        f"{who}: {'larger' if larger else 'smaller'} values of {name} count as better; pass mode='max' or 'min' "
        "to avoid this warning",
        stacklevel=3,
    )
    return operator.gt if larger else operator.lt


class CheckpointHandler(_Counting):
    """Saves parameters and the trainer's states, in files `model_prefix`-epoch0batch0.params and .states.

    The symbol of a hybridized network is saved with the first batch.

    Args:
        model_dir: the folder of the files, which is made.
        model_prefix: what their names start with.
        monitor: the metric by which a network is the best one, one of the estimator's.
        verbose: 1 logs what is saved.
        save_best: the best network so far is saved too, as `model_prefix`-best.
        mode: "min" or "max", which values of `monitor` are better; "auto" goes by its name, with a warning.
        epoch_period: after how many epochs; None is never.
        batch_period: after how many batches; None is never.
        max_checkpoints: how many files stay; the oldest are removed.
        resume_from_checkpoint: training continues from the newest one in `model_dir`.

    Raises:
        ValueError: `save_best` without a metric as `monitor`; training to resume has ended.
        AssertionError: training to resume does not go by one kind of period, or a file is missing.

    Example:
        >>> net = gluon.nn.Dense(1, in_units=1, weight_initializer="zeros")
        >>> net.initialize()
        >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        >>> estimator = gluon.contrib.estimator.Estimator(net, gluon.loss.L2Loss(), trainer=trainer)
        >>> estimator.logger.setLevel("ERROR")
        >>> samples = gluon.data.ArrayDataset(nd.array([[1.0], [2.0]]), nd.array([2.0, 4.0]))
        >>> saver = gluon.contrib.estimator.CheckpointHandler("saved")
        >>> estimator.fit(gluon.data.DataLoader(samples, batch_size=2), epochs=1, event_handlers=[saver])
        >>> import os
        >>> sorted(os.listdir("saved"))
        ['model-epoch0batch1.params', 'model-epoch0batch1.states']

    Source: `mxnet.gluon.contrib.estimator.CheckpointHandler` of MXNet 1.9.1.
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        if save_best and not isinstance(monitor, EvalMetric):
            raise ValueError(
                "To save best model only, please provide one of the metric objects from estimator.train_metrics and "
                "estimator.val_metrics as monitor."
            )
        os.makedirs(model_dir, exist_ok=True)
        self.monitor = monitor
        self.verbose = verbose
        self.model_dir = model_dir
        self.model_prefix = model_prefix
        self.save_best = save_best
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self.trained_epoch = self.trained_batch = -1
        if save_best:
            self.monitor_op = _comparison("CheckpointHandler", mode, monitor)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        super().train_begin(estimator)
        if self.save_best:
            self.best = math.inf if self.monitor_op is operator.lt else -math.inf
        if self.resume_from_checkpoint:
            by_batch = bool(estimator.max_batch)
            if bool(self.batch_period) != by_batch or bool(self.epoch_period) == by_batch:
                raise AssertionError(
                    "To use resume from checkpoint, training must go by the same kind of period as checkpoints: set "
                    "epoch_period or batch_period alone"
                )
            self._resume_from_checkpoint(estimator)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    def _save_symbol(self, estimator: Any) -> None:
        target = os.path.join(self.model_dir, self.model_prefix + "-symbol.json")
        if getattr(estimator.net, "_in_format", None) is None:
            estimator.logger.info(
                "The symbol is not saved as %s: that needs a HybridBlock, and net.hybridize() before training.", target
            )
            return
        with tempfile.TemporaryDirectory() as folder:
            estimator.net.export(os.path.join(folder, "net"))
            shutil.move(os.path.join(folder, "net-symbol.json"), target)

    def _save_checkpoint(self, estimator: Any) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch += self.trained_epoch + 1
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)
        prefix = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._save_params_and_trainer(estimator, prefix)
        self.saved_checkpoints.append(prefix)
        if len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for ending in (".params", ".states"):
                path = os.path.join(self.model_dir, oldest + ending)
                if os.path.exists(path):
                    os.remove(path)
        if self.verbose > 0:
            text = "[Epoch %d] CheckpointHandler: trained total %d batches, saving model at %s with prefix: %s"
            estimator.logger.info(text, self.current_epoch, self.current_batch + 1, self.model_dir, prefix)
        if self.save_best:
            self._save_if_best(estimator)

    def _save_if_best(self, estimator: Any) -> None:
        name, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(f"Skipping save best because {name} is not updated", RuntimeWarning, stacklevel=4)
        elif self.monitor_op(value, self.best):
            prefix = self.model_prefix + "-best"
            self._save_params_and_trainer(estimator, prefix)
            if self.verbose > 0:
                text = "[Epoch %d] CheckpointHandler: %s improved from %0.5f to %0.5f, updating best model: %s"
                estimator.logger.info(text, self.current_epoch, name, self.best, value, prefix)
            self.best = value

    def _save_params_and_trainer(self, estimator: Any, prefix: str) -> None:
        path = os.path.join(self.model_dir, prefix)
        estimator.net.save_parameters(path + ".params")
        estimator.trainer.save_states(path + ".states")

    def _resume_from_checkpoint(self, estimator: Any) -> None:
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params\Z")
        found = sorted((int(m.group(1)), int(m.group(2))) for m in map(pattern.match, os.listdir(self.model_dir)) if m)
        self.saved_checkpoints = [f"{self.model_prefix}-epoch{e}batch{b}" for e, b in found]
        kind = "batch" if estimator.max_batch else "epoch"
        limit = estimator.max_batch or estimator.max_epoch
        if not found:
            self.trained_epoch = self.trained_batch = -1
            text = "CheckpointHandler: No checkpoint found, training from scratch for %d %s(s)"
            estimator.logger.info(text, limit, kind)
            return
        self.trained_epoch, self.trained_batch = found[-1]
        done = self.trained_batch if kind == "batch" else self.trained_epoch
        if done >= limit - 1:
            raise ValueError(
                f"Found checkpoint with maximum number of {kind} {limit} reached, please specify "
                "resume_from_checkpoint=False (default value) if you want to train from scratch."
            )
        setattr(estimator, f"max_{kind}", limit - done - 1)
        path = os.path.join(self.model_dir, self.saved_checkpoints[-1])
        if not os.path.exists(path + ".states"):
            raise AssertionError(f"Failed to load checkpoint, {path}.states does not exist")
        estimator.net.load_parameters(path + ".params", ctx=estimator.context)
        estimator.trainer.load_states(path + ".states")
        text = "CheckpointHandler: Checkpoint resumed from epoch %d batch %d, continue to train for %d %s(s)"
        estimator.logger.warning(text, self.trained_epoch, self.trained_batch, limit - done - 1, kind)


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends training when a metric has not become better for some epochs.

    Args:
        monitor: the metric, one of the estimator's.
        min_delta: the least change that counts.
        patience: after how many epochs training ends.
        mode: "min" or "max", which values are better; "auto" goes by the metric's name, with a warning.
        baseline: the value that the first one must beat; None for none.

    Raises:
        ValueError: `monitor` is no metric, or a composite one.

    Example:
        >>> metric = mx.metric.Loss()
        >>> handler = gluon.contrib.estimator.EarlyStoppingHandler(metric, patience=1, mode="min")
        >>> handler.train_begin(None)
        >>> for loss in (2.0, 1.0, 3.0):
        ...     metric.reset()
        ...     metric.update(0, nd.array([loss]))
        ...     print(handler.epoch_end(None))
        False
        False
        True

    Source: `mxnet.gluon.contrib.estimator.EarlyStoppingHandler` of MXNet 1.9.1.
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        if not isinstance(monitor, EvalMetric):
            raise ValueError(
                "Please provide one of the metric objects from estimator.train_metrics and estimator.val_metrics as "
                "monitor."
            )
        if isinstance(monitor, CompositeEvalMetric):
            raise ValueError("EarlyStoppingHandler: monitor must be a simple metric, not a CompositeEvalMetric")
        self.monitor = monitor
        self.patience = patience
        self.baseline = baseline
        self.monitor_op = _comparison("EarlyStoppingHandler", mode, monitor)
        self.min_delta = min_delta if self.monitor_op is operator.gt else -min_delta
        self._start_counting()

    def _start_counting(self) -> None:
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False
        worst = math.inf if self.monitor_op is operator.lt else -math.inf
        self.best = worst if self.baseline is None else self.baseline

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self._start_counting()

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        name, value = self.monitor.get()
        if math.isnan(value):
            text = f"{name} is not updated; it must be one of the estimator's metrics"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best = value
            self.wait = 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.stopped_epoch > 0:
            text = "[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving"
            estimator.logger.info(text, self.stopped_epoch, self.monitor.get()[0])
