"""Estimator: a training loop that calls event handlers."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from typing import Any

from ....context import Context, cpu, gpu, num_gpus
from ....metric import Loss as LossMetric
from ...data import DataLoader
from ...loss import Loss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .event_handler import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
    _check_event_handlers,
)
from .utils import _check_handler_metric_ref, _check_metrics, _suggest_metric_for_loss

__all__ = ["Estimator"]

_EVENTS = {
    "train_begin": TrainBegin,
    "epoch_begin": EpochBegin,
    "batch_begin": BatchBegin,
    "batch_end": BatchEnd,
    "epoch_end": EpochEnd,
    "train_end": TrainEnd,
}


class _Events:
    """Calls an estimator's handlers in order; each event returns whether a handler ends training."""

    def __init__(self, estimator: Estimator, handlers: list[EventHandler]) -> None:
        self.estimator = estimator
        self.handlers = dict(zip(_EVENTS, estimator._categorize_handlers(handlers), strict=True))

    def tell(self, event: str, **kwargs: Any) -> bool:
        return any([getattr(handler, event)(self.estimator, **kwargs) for handler in self.handlers[event]])


class Estimator:
    """Trains and evaluates a network, and calls event handlers.

    Args:
        net: the network.
        loss: the loss, a gluon.loss.Loss.
        train_metrics: a metric of the training data or a list of them; None is the mean loss, for a softmax cross
            entropy the accuracy too.
        val_metrics: a metric of the validation data or a list of them; None is copies of `train_metrics`.
        initializer: the initializer of a network that is not initialized yet.
        trainer: the Trainer; None is SGD with a learning rate of 0.001, with a warning.
        context: a device or a list of them; None is gpu(0) if it exists, else cpu().
        val_net: the network that is validated; None is `net`.
        val_loss: the loss of the validation; None is `loss`.
        batch_processor: what is done with a batch; None is a BatchProcessor.

    Raises:
        ValueError: an argument is of another kind; in `fit`, both or none of `epochs` and `batches` are given; data
            are no DataLoader.
        AssertionError: a GPU of `context` is not there.

    Example:
        >>> net = gluon.nn.Dense(1, in_units=1, weight_initializer="zeros")
        >>> net.initialize()
        >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        >>> estimator = gluon.contrib.estimator.Estimator(net, gluon.loss.L2Loss(), trainer=trainer)
        >>> estimator.logger.setLevel("ERROR")
        >>> samples = gluon.data.ArrayDataset(nd.array([[1.0], [2.0]]), nd.array([2.0, 4.0]))
        >>> estimator.fit(gluon.data.DataLoader(samples, batch_size=1), epochs=50)
        >>> net(nd.array([[3.0]])).asnumpy().round(1)
        array([[5.7]], dtype=float32)

    Source: `mxnet.gluon.contrib.estimator.Estimator` of MXNet 1.9.1.
    """

    logger: Any = None

    def __init__(
        self,
        net: Any,
        loss: Loss,
        train_metrics: Any = None,
        val_metrics: Any = None,
        initializer: Any = None,
        trainer: Trainer | None = None,
        context: Any = None,
        val_net: Any = None,
        val_loss: Loss | None = None,
        batch_processor: Any = None,
    ) -> None:
        self.net = net
        self.loss = self._check_loss(loss)
        self._train_metrics = list(_check_metrics(train_metrics)) or self._default_metrics()
        for metric in self._train_metrics:
            metric.name = "training " + metric.name
        self._val_metrics = list(_check_metrics(val_metrics)) or [copy.deepcopy(m) for m in self._train_metrics]
        for metric in self._val_metrics:
            known = "training" in metric.name
            metric.name = metric.name.replace("training", "validation") if known else "validation " + metric.name
        self.val_loss = self.loss if val_loss is None else self._check_loss(val_loss)
        self.val_net = net if val_net is None else val_net
        self.logger = logging.Logger(name="Estimator", level=logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = self._check_context(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.batch_processor = self._check_batch_processor(batch_processor)

    # ---- arguments ----

    @staticmethod
    def _check_loss(loss: Any) -> Loss:
        if not isinstance(loss, Loss):
            raise ValueError(f"loss must be a Loss, refer to gluon.loss.Loss:{loss}")
        return loss

    def _default_metrics(self) -> list[Any]:
        suggested = _suggest_metric_for_loss(self.loss)
        return ([suggested] if suggested else []) + [LossMetric(self.loss.name.rstrip("1234567890"))]

    @staticmethod
    def _check_context(context: Any) -> list[Context]:
        count = num_gpus()
        if not context:
            if count > 1:
                warnings.warn(f"There are {count} GPUs; gpu(0) is used. A list as context uses more", stacklevel=3)
            return [gpu(0) if count else cpu()]
        contexts = [context] if isinstance(context, Context) else context
        if not isinstance(contexts, list) or not all(isinstance(ctx, Context) for ctx in contexts):
            raise ValueError(f"context must be a Context or a list of Context, such as mx.cpu(), got {context}")
        for ctx in contexts:
            if ctx.device_type == "gpu" and ctx.device_id >= count:
                raise AssertionError(f"{ctx} is not available; there are {count} GPUs")
        return contexts

    def _initialize(self, initializer: Any) -> None:
        if not self._is_initialized():
            self.net.initialize(ctx=self.context, **({"init": initializer} if initializer else {}))
        elif initializer:
            warnings.warn("Network already fully initialized: the initializer is not used", stacklevel=3)

    def _is_initialized(self) -> bool:
        try:
            for param in self.net.collect_params().values():
                param.list_ctx()
        except RuntimeError:
            return False
        return True

    def _check_trainer(self, trainer: Any) -> Trainer:
        if not trainer:
            text = "No trainer specified, default SGD optimizer with learning rate 0.001 is used."
            warnings.warn(text, stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(f"Trainer must be a Gluon Trainer instance, refer to gluon.Trainer:{trainer}")
        return trainer

    @staticmethod
    def _check_batch_processor(processor: Any) -> Any:
        if processor is None:
            return BatchProcessor()
        if not all(callable(getattr(processor, name, None)) for name in ("fit_batch", "evaluate_batch")):
            raise ValueError("Customized Batch Processor must contain fit_batch() and evaluate_batch() methods")
        return processor

    @property
    def train_metrics(self) -> list[Any]:
        """Metrics of the training data."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[Any]:
        """Metrics of the validation data."""
        return self._val_metrics

    # ---- running ----

    @staticmethod
    def _check_data(data: Any) -> None:
        if not isinstance(data, DataLoader):
            raise ValueError(f"Estimator only supports a gluon.data.DataLoader as input, not a {type(data).__name__}")

    def _prepare_default_handlers(self, val_data: Any, event_handlers: Any) -> list[EventHandler]:
        """The handlers of `fit` in their order: the given ones, and defaults of the kinds of which none was given."""
        defaults: list[EventHandler] = [
            StoppingHandler(self.max_epoch, self.max_batch),
            GradientUpdateHandler(),
            MetricHandler(self.train_metrics),
            LoggingHandler(metrics=self.train_metrics),
        ]
        if val_data:
            defaults.insert(3, ValidationHandler(val_data=val_data, eval_fn=self.evaluate))
        return self._with_defaults(event_handlers, defaults, self.train_metrics + self.val_metrics)

    def _prepare_default_validation_handlers(self, event_handlers: Any) -> list[EventHandler]:
        """The handlers of `evaluate` in their order."""
        defaults = [MetricHandler(self.val_metrics), LoggingHandler(metrics=self.val_metrics)]
        return self._with_defaults(event_handlers, defaults, self.val_metrics)

    @staticmethod
    def _with_defaults(given: Any, defaults: list[EventHandler], metrics: list[Any]) -> list[EventHandler]:
        handlers = _check_event_handlers(given)
        kinds = [type(d) for d in defaults]
        missing = [k is StoppingHandler or not any(isinstance(h, k) for h in handlers) for k in kinds]
        added = [d for d, needed in zip(defaults, missing, strict=True) if needed]
        if handlers and added:
            for handler in handlers:
                _check_handler_metric_ref(handler, metrics)
        return sorted(handlers + added, key=lambda handler: getattr(handler, "priority", 0))

    def _categorize_handlers(self, event_handlers: list[EventHandler]) -> tuple[list[EventHandler], ...]:
        """Lists of the handlers for the begin of training, epochs and batches, then for the end of batches, epochs and
        training.
        """
        return tuple([h for h in event_handlers if isinstance(h, kind)] for kind in _EVENTS.values())

    def evaluate(self, val_data: DataLoader, batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Updates the validation metrics with all batches of a DataLoader; handlers get epoch and batch events."""
        self._check_data(val_data)
        for metric in self.val_metrics:
            metric.reset()
        events = _Events(self, self._prepare_default_validation_handlers(event_handlers))
        events.tell("epoch_begin")
        for batch in val_data:
            events.tell("batch_begin", batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            events.tell("batch_end", batch=batch, pred=pred, label=label, loss=loss)
        events.tell("epoch_end")

    def fit(
        self,
        train_data: DataLoader,
        val_data: DataLoader | None = None,
        epochs: int | None = None,
        event_handlers: Any = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Trains on a DataLoader for a number of `epochs` or of `batches`; ValueError unless exactly one is given.

        `event_handlers`: one handler or a list. Handlers that stop, update parameters and metrics, validate and log are
        added if none of the kind is given.
        """
        self._check_data(train_data)
        if bool(epochs) == bool(batches):
            raise ValueError(f"fit: give either epochs or batches, got epochs={epochs} and batches={batches}")
        self.max_epoch = epochs
        self.max_batch = batches
        self.batch_axis = batch_axis
        events = _Events(self, self._prepare_default_handlers(val_data, event_handlers))
        events.tell("train_begin")
        stop = False
        while not stop:
            events.tell("epoch_begin")
            for batch in train_data:
                events.tell("batch_begin", batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                if events.tell("batch_end", batch=batch, pred=pred, label=label, loss=loss):
                    break
            stop = events.tell("epoch_end")
        events.tell("train_end")
