"""Event handlers that stop training, update metrics and parameters, validate, and log."""

from __future__ import annotations

import math
import os  # noqa: F401  programs find it here, as in MXNet
import time
import warnings  # noqa: F401  programs find it here, as in MXNet
from collections.abc import Callable
from typing import Any

from ....metric import CompositeEvalMetric, EvalMetric  # noqa: F401  programs find them here, as in MXNet
from ....metric import Loss as LossMetric
from ._checkpoints import CheckpointHandler, EarlyStoppingHandler
from ._events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, EventHandler, TrainBegin, TrainEnd, _Counting
from ._events import _check_event_handlers as _check_event_handlers
from .utils import _check_metrics

__all__ = ["TrainBegin", "TrainEnd", "EpochBegin", "EpochEnd", "BatchBegin", "BatchEnd", "StoppingHandler",
           "MetricHandler", "ValidationHandler", "LoggingHandler", "CheckpointHandler", "EarlyStoppingHandler",
           "GradientUpdateHandler"]  # fmt: skip

for _known in (
    EventHandler, TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd, CheckpointHandler,
    EarlyStoppingHandler,
):  # fmt: skip
    _known.__module__ = __name__  # the module's name in MXNet, as in pickles


class StoppingHandler(_Counting):
    """Ends training after a number of epochs or batches.

    `Estimator.fit` adds one with its own `epochs` and `batches`.

    Args:
        max_epoch: the number of epochs; None is no limit.
        max_batch: the number of batches; None is no limit.

    Example:
        >>> handler = gluon.contrib.estimator.StoppingHandler(max_epoch=2)
        >>> handler.epoch_end(None), handler.epoch_end(None)
        (False, True)

    Source: `mxnet.gluon.contrib.estimator.StoppingHandler` of MXNet 1.9.1.
    """

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
    """Updates metrics after each batch, and resets them at the begin of each epoch.

    Args:
        metrics: a metric or a list of them.
        priority: the order among handlers, lower ones first.

    Raises:
        ValueError: `metrics` has something else.

    Example:
        >>> metric = mx.metric.Accuracy()
        >>> handler = gluon.contrib.estimator.MetricHandler(metric)
        >>> handler.batch_end(None, pred=[nd.array([[0.1, 0.9]])], label=[nd.array([1])], loss=[nd.array([0.1])])
        >>> metric.get()
        ('accuracy', 1.0)

    Source: `mxnet.gluon.contrib.estimator.MetricHandler` of MXNet 1.9.1.
    """

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
    """Validates after every `epoch_period` epochs and every `batch_period` batches.

    Args:
        val_data: the validation data, a DataLoader.
        eval_fn: called with the keyword arguments `val_data`, `batch_axis` and `event_handlers`, as
            `Estimator.evaluate` can be.
        epoch_period: after how many epochs; None is never.
        batch_period: after how many batches; None is never.
        priority: the order among handlers, lower ones first.
        event_handlers: handlers of the validation.

    Example:
        >>> from types import SimpleNamespace
        >>> handler = gluon.contrib.estimator.ValidationHandler("data", lambda val_data, **kwargs: print(val_data))
        >>> handler.epoch_end(SimpleNamespace(batch_axis=0))
        data

    Source: `mxnet.gluon.contrib.estimator.ValidationHandler` of MXNet 1.9.1.
    """

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
    """Logs metrics and times at the end of each epoch, and perhaps of batches.

    Args:
        log_interval: after how many batches it logs too; "epoch" is only after epochs.
        metrics: a metric or a list of them; None for none.
        priority: the order among handlers, lower ones first.

    Raises:
        ValueError: `log_interval` is neither an int nor "epoch"; `metrics` has something else.

    Example:
        >>> handler = gluon.contrib.estimator.LoggingHandler(log_interval=10, metrics=mx.metric.Accuracy())
        >>> handler.priority
        inf

    Source: `mxnet.gluon.contrib.estimator.LoggingHandler` of MXNet 1.9.1.
    """

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


class GradientUpdateHandler(BatchEnd):
    """Has the trainer make a step after each batch.

    Args:
        priority: the order among handlers, lower ones first.

    Example:
        >>> from types import SimpleNamespace
        >>> w = gluon.Parameter("w", shape=(1,), init="ones")
        >>> w.initialize()
        >>> trainer = gluon.Trainer([w], "sgd", {"learning_rate": 0.5})
        >>> with autograd.record():
        ...     loss = w.data() * 3
        >>> loss.backward()
        >>> gluon.contrib.estimator.GradientUpdateHandler().batch_end(SimpleNamespace(trainer=trainer), loss=[loss])
        >>> w.data().asnumpy()
        array([-0.5], dtype=float32)

    Source: `mxnet.gluon.contrib.estimator.GradientUpdateHandler` of MXNet 1.9.1.
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        loss = kwargs["loss"]
        estimator.trainer.step(sum(x.shape[0] for x in (loss if isinstance(loss, list) else [loss])))
