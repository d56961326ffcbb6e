"""Handlers of what happens during training."""

from __future__ import annotations

import math
import operator
import os
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

from ....metric import CompositeEvalMetric, EvalMetric
from ....metric import Loss as LossMetric
from .utils import _check_metrics

__all__ = ["TrainBegin", "TrainEnd", "EpochBegin", "EpochEnd", "BatchBegin", "BatchEnd", "StoppingHandler",
           "MetricHandler", "ValidationHandler", "LoggingHandler", "CheckpointHandler", "EarlyStoppingHandler",
           "GradientUpdateHandler"]  # fmt: skip


class EventHandler:
    """Base class. `priority`: handlers of one event run in its order, 0 by default."""


def _check_event_handlers(handlers: Any) -> list[EventHandler]:
    """A new list of one handler, of a list of them, or of None; ValueError for anything else."""
    handlers = [handlers] if isinstance(handlers, EventHandler) else list(handlers or [])
    if not all(isinstance(handler, EventHandler) for handler in handlers):
        raise ValueError(f"handlers must be an EventHandler or a list of EventHandler, got: {handlers}")
    return handlers


class TrainBegin(EventHandler):
    """Is told when training begins."""

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """When training begins."""


class TrainEnd(EventHandler):
    """Is told when training has ended."""

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """When training has ended."""


class EpochBegin(EventHandler):
    """Is told when an epoch begins."""

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """When an epoch begins."""


class EpochEnd(EventHandler):
    """Is told when an epoch has ended."""

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool | None:
        """When an epoch has ended. True ends training."""
        return False


class BatchBegin(EventHandler):
    """Is told when a batch begins."""

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """When a batch begins; `batch` is a keyword argument."""


class BatchEnd(EventHandler):
    """Is told when a batch has ended."""

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool | None:
        """When a batch has ended; `batch`, `pred`, `label` and `loss` are keyword arguments. True ends training."""
        return False


class _Counting(TrainBegin, BatchEnd, EpochEnd):
    """Counts batches and epochs from the beginning of training on."""

    current_batch = 0
    current_epoch = 0

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch = 0
        self.current_epoch = 0


class StoppingHandler(_Counting):
    """Ends training after as many epochs or batches as `fit` was told."""

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch = max_epoch
        self.max_batch = max_batch
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        super().train_begin(estimator)
        self.max_epoch = estimator.max_epoch
        self.max_batch = estimator.max_batch

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Updates metrics with each batch; they start anew with each epoch."""

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = _check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(_Counting):
    """Calls `eval_fn` on the validation data every `epoch_period` epochs and every `batch_period` batches."""

    def __init__(
        self,
        val_data: Any,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.priority = priority
        self.event_handlers = event_handlers

    def _evaluate(self, estimator: Any) -> None:
        self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._evaluate(estimator)

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._evaluate(estimator)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs metrics and times at the end of each epoch; with a number as `log_interval` also every so many batches."""

    def __init__(self, log_interval: int | str = "epoch", metrics: Any = None, priority: float = math.inf) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ValueError(f"log_interval must be either an integer or string 'epoch', got {log_interval!r}")
        self.metrics = _check_metrics(metrics)
        self.log_interval = log_interval
        self.priority = priority
        self._start_counting()

    def _start_counting(self) -> None:
        self.batch_index = 0
        self.current_epoch = 0
        self.processed_samples = 0
        self.log_interval_time = 0.0

    def _log(self, estimator: Any, text: str) -> None:
        values = ", ".join("{}: {:.4f}".format(*metric.get()) for metric in self.metrics)
        estimator.logger.info((text + values).rstrip(", "))

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.train_start = time.time()
        trainer = estimator.trainer
        name = type(trainer.optimizer).__name__
        text = "Training begin: using optimizer %s with current learning rate %.4f "
        estimator.logger.info(text, name, trainer.learning_rate)
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self._start_counting()

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        seconds = time.time() - self.train_start
        self._log(estimator, f"Train finished using total {int(seconds)}s with {self.current_epoch} epochs. ")

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.batch_start = time.time()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(self.log_interval, int):
            self.log_interval_time += time.time() - self.batch_start
            self.processed_samples += kwargs["batch"][0].shape[0]
            if self.batch_index % self.log_interval == 0:
                at = f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}] "
                self._log(estimator, f"{at}time/interval: {self.log_interval_time:.3f}s ")
                self.log_interval_time = 0.0
        self.batch_index += 1

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            text = "[Epoch %d] Begin, current learning rate: %.4f"
            estimator.logger.info(text, self.current_epoch, estimator.trainer.learning_rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self._log(estimator, f"[Epoch {self.current_epoch}] Finished in {time.time() - self.epoch_start:.3f}s, ")
        self.current_epoch += 1
        self.batch_index = 0


def _comparison(who: str, mode: str, monitor: EvalMetric) -> Callable[[float, float], bool]:
    """Which values of a metric are better: `mode` is 'min', 'max', or 'auto' to go by its name."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(f"{who} mode {mode} is unknown, fallback to auto mode.", RuntimeWarning, stacklevel=3)
        mode = "auto"
    if mode != "auto":
        return operator.lt if mode == "min" else operator.gt
    name = monitor.get()[0]
    larger = any(word in name.lower() for word in ("acc", "f1"))
    warnings.warn(
        f"{who}: {name} counts as better where it is {'larger' if larger else 'smaller'}; mode='max' or 'min' says "
        "so without this warning",
        stacklevel=3,
    )
    return operator.gt if larger else operator.lt


class CheckpointHandler(_Counting):
    """Saves parameters and the trainer's states to `model_dir`, as `model_prefix`-epoch…batch….params and .states.

    Args:
        epoch_period, batch_period: every so many epochs and batches.
        max_checkpoints: older ones are removed.
        save_best: also the best so far, as `model_prefix`-best, by the metric `monitor` and `mode`.
        resume_from_checkpoint: training goes on from the newest in `model_dir`.
        verbose: 1 to log what is saved.

    The symbol of a hybridized network is saved with the first batch.
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
    """Ends training when the metric `monitor` has not become better for `patience` epochs.

    Args:
        min_delta: smaller changes do not count.
        mode: 'min', 'max', or 'auto' to go by the metric's name.
        baseline: what the first value must beat.
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


class GradientUpdateHandler(BatchEnd):
    """Has the trainer make a step after each batch."""

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        loss = kwargs["loss"]
        estimator.trainer.step(sum(x.shape[0] for x in (loss if isinstance(loss, list) else [loss])))
