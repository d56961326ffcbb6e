"""Base classes of event handlers, one for each event of training."""

from __future__ import annotations

from typing import Any


class EventHandler:
    """Base class of event handlers.

    Each subclass stands for one event, and a handler may derive from several. The handlers of an event are called in
    the order of their attribute `priority`, which is 0 if it is missing.

    Example:
        >>> issubclass(gluon.contrib.estimator.BatchEnd, gluon.contrib.estimator.event_handler.EventHandler)
        True

    Source: `mxnet.gluon.contrib.estimator.event_handler.EventHandler` of MXNet 1.9.1.
    """


def _check_event_handlers(handlers: Any) -> list[EventHandler]:
    """A new list of one handler, of a list of them, or of None; ValueError for anything else."""
    handlers = [handlers] if isinstance(handlers, EventHandler) else list(handlers or [])
    if not all(isinstance(handler, EventHandler) for handler in handlers):
        raise ValueError(f"handlers must be an EventHandler or a list of EventHandler, got: {handlers}")
    return handlers


class TrainBegin(EventHandler):
    """Base class of handlers that are called when training begins: a subclass overrides `train_begin`.

    Example:
        >>> class Told(gluon.contrib.estimator.TrainBegin):
        ...     def train_begin(self, estimator, *args, **kwargs):
        ...         print("training begins")
        >>> Told().train_begin(None)  # as `Estimator.fit` does it
        training begins

    Source: `mxnet.gluon.contrib.estimator.TrainBegin` of MXNet 1.9.1.
    """

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Called when training begins."""


class TrainEnd(EventHandler):
    """Base class of handlers that are called when training has ended: a subclass overrides `train_end`.

    Example:
        >>> class Told(gluon.contrib.estimator.TrainEnd):
        ...     def train_end(self, estimator, *args, **kwargs):
        ...         print("training has ended")
        >>> Told().train_end(None)  # as `Estimator.fit` does it
        training has ended

    Source: `mxnet.gluon.contrib.estimator.TrainEnd` of MXNet 1.9.1.
    """

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Called when training has ended."""


class EpochBegin(EventHandler):
    """Base class of handlers that are called when an epoch begins: a subclass overrides `epoch_begin`.

    Example:
        >>> class Told(gluon.contrib.estimator.EpochBegin):
        ...     def epoch_begin(self, estimator, *args, **kwargs):
        ...         print("an epoch begins")
        >>> Told().epoch_begin(None)  # as `Estimator.fit` does it
        an epoch begins

    Source: `mxnet.gluon.contrib.estimator.EpochBegin` of MXNet 1.9.1.
    """

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Called when an epoch begins."""


class EpochEnd(EventHandler):
    """Base class of handlers that are called when an epoch has ended: a subclass overrides `epoch_end`. A result that
    is true ends training.

    Example:
        >>> class Told(gluon.contrib.estimator.EpochEnd):
        ...     def epoch_end(self, estimator, *args, **kwargs):
        ...         print("an epoch has ended")
        >>> Told().epoch_end(None)  # as `Estimator.fit` does it
        an epoch has ended

    Source: `mxnet.gluon.contrib.estimator.EpochEnd` of MXNet 1.9.1.
    """

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool | None:
        """Called when an epoch has ended. A result that is true ends training."""
        return False


class BatchBegin(EventHandler):
    """Base class of handlers that are called when a batch begins: a subclass overrides `batch_begin`. The keyword
    argument `batch` is the batch.

    Example:
        >>> class Told(gluon.contrib.estimator.BatchBegin):
        ...     def batch_begin(self, estimator, *args, **kwargs):
        ...         print("a batch begins")
        >>> Told().batch_begin(None)  # as `Estimator.fit` does it
        a batch begins

    Source: `mxnet.gluon.contrib.estimator.BatchBegin` of MXNet 1.9.1.
    """

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Called when a batch begins, with the keyword argument `batch`."""


class BatchEnd(EventHandler):
    """Base class of handlers that are called when a batch has ended: a subclass overrides `batch_end`. Keyword
    arguments are `batch`, `pred`, `label` and `loss`. A result that is true ends training.

    Example:
        >>> class Told(gluon.contrib.estimator.BatchEnd):
        ...     def batch_end(self, estimator, *args, **kwargs):
        ...         print("a batch has ended")
        >>> Told().batch_end(None)  # as `Estimator.fit` does it
        a batch has ended

    Source: `mxnet.gluon.contrib.estimator.BatchEnd` of MXNet 1.9.1.
    """

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool | None:
        """Called when a batch has ended, with keyword arguments `batch`, `pred`, `label` and `loss`. A result that is
        true ends training.
        """
        return False


class _Counting(TrainBegin, BatchEnd, EpochEnd):
    """A handler that counts the batches and epochs of a training."""

    current_batch = 0
    current_epoch = 0

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch = 0
        self.current_epoch = 0
