"""Callbacks of `fit` and `score`: checkpoints, logs of metrics and speed."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

from .model import save_checkpoint

__all__ = [
    "module_checkpoint",
    "do_checkpoint",
    "log_train_metric",
    "Speedometer",
    "ProgressBar",
    "LogValidationMetricsCallback",
]


def module_checkpoint(
    mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """A callback at the end of an epoch that saves a module.

    Args:
        mod: the module, which has `save_checkpoint`.
        prefix: beginning of the files' names: `prefix-symbol.json`, `prefix-0001.params` and so on.
        period: saves every `period` epochs; a number below 1 counts as 1.
        save_optimizer_states: also writes `prefix-0001.states`.

    Returns:
        A function `(epoch, sym, arg, aux)`, for `epoch_end_callback` of `fit`.

    Raises:
        ValueError: `period` is no number.

    Example:
        >>> class Net:
        ...     def save_checkpoint(self, prefix, epoch, states): print(prefix, epoch, states)
        >>> callback = mx.callback.module_checkpoint(Net(), "net", period=2)
        >>> for epoch in range(4): callback(epoch)
        net 2 False
        net 4 False

    Source: `mxnet.callback.module_checkpoint` of MXNet 1.9.1.
    """
    period = max(1, int(period))

    def callback(epoch: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (epoch + 1) % period == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    return callback


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """A callback at the end of an epoch that saves symbol and parameters.

    Args:
        prefix: beginning of the files' names: `prefix-symbol.json`, `prefix-0001.params` and so on.
        period: saves every `period` epochs; a number below 1 counts as 1.

    Returns:
        A function `(epoch, sym, arg, aux)`, for `epoch_end_callback` of `fit`.

    Raises:
        ValueError: `period` is no number.

    Example:
        >>> import glob
        >>> y = mx.sym.var("x") * mx.sym.var("w")
        >>> mx.callback.do_checkpoint("net")(0, y, {"w": nd.ones(1)}, {})
        >>> sorted(glob.glob("net-*"))
        ['net-0001.params', 'net-symbol.json']

    Source: `mxnet.callback.do_checkpoint` of MXNet 1.9.1.
    """
    period = max(1, int(period))

    def callback(epoch: int, sym: Any, arg: Any, aux: Any) -> None:
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, sym, arg, aux)

    return callback


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """A callback at the end of a batch that logs the metric.

    Args:
        period: logs every `period` batches.
        auto_reset: the metric's local values start anew after each time.

    Returns:
        A function of the batch's parameters (`epoch`, `nbatch`, `eval_metric`), for `batch_end_callback` of `fit`.

    Raises:
        ZeroDivisionError: in a call, `period` is 0.

    Example:
        >>> metric = mx.metric.Accuracy()
        >>> metric.update([nd.array([1, 0])], [nd.array([[0, 1], [0, 1]])])
        >>> param = mx.model.BatchEndParam(epoch=0, nbatch=50, eval_metric=metric, locals=None)
        >>> mx.callback.log_train_metric(50)(param)  # logs "Iter[0] Batch[50] Train-accuracy=0.500000"

    Source: `mxnet.callback.log_train_metric` of MXNet 1.9.1.
    """

    def callback(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return callback


class Speedometer:
    """A callback at the end of a batch that logs samples per second, and the metric.

    Args:
        batch_size: number of samples in a batch.
        frequent: logs every `frequent` batches.
        auto_reset: the metric's local values start anew after each time, so that they are those of the last batches.

    Raises:
        ZeroDivisionError: in a call, `frequent` is 0.

    Example:
        >>> speed = mx.callback.Speedometer(batch_size=32, frequent=1)
        >>> for n in range(2):
        ...     speed(mx.model.BatchEndParam(epoch=0, nbatch=n, eval_metric=None, locals=None))

    Source: `mxnet.callback.Speedometer` of MXNet 1.9.1.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param: Any) -> None:
        count = param.nbatch
        if self.last_count > count:
            self.init = False  # another epoch
        self.last_count = count
        if not self.init:
            self.init, self.tic = True, time.time()
            return
        if count % self.frequent:
            return
        seconds = time.time() - self.tic
        speed = self.frequent * self.batch_size / seconds if seconds else math.inf
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            values = param.eval_metric.get_name_value()
            first = count - self.frequent if self.auto_reset else 0
            if self.auto_reset:
                param.eval_metric.reset_local()
            text = "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(values)
            logging.info(text, param.epoch, first, count, speed, *sum(values, ()))
        self.tic = time.time()


class ProgressBar:
    """A callback at the end of a batch that logs a bar.

    Args:
        total: number of batches after which the bar is full.
        length: characters of the full bar.

    Raises:
        ZeroDivisionError: in a call, `total` is 0.

    Example:
        >>> bar = mx.callback.ProgressBar(total=4, length=8)
        >>> bar(mx.model.BatchEndParam(epoch=0, nbatch=2, eval_metric=None, locals=None))  # logs "[====----] 50%"

    Source: `mxnet.callback.ProgressBar` of MXNet 1.9.1.
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total

    def __call__(self, param: Any) -> None:
        done = param.nbatch / float(self.total)
        filled = int(round(self.bar_len * done))
        logging.info("[%s] %s%s\r", "=" * filled + "-" * (self.bar_len - filled), math.ceil(100.0 * done), "%")


class LogValidationMetricsCallback:
    """A callback at the end of an evaluation that logs the metric.

    Example:
        >>> metric = mx.metric.Accuracy()
        >>> metric.update([nd.array([1, 0])], [nd.array([[0, 1], [0, 1]])])
        >>> param = mx.model.BatchEndParam(epoch=0, nbatch=0, eval_metric=metric, locals=None)
        >>> mx.callback.LogValidationMetricsCallback()(param)  # logs "Epoch[0] Validation-accuracy=0.500000"

    Source: `mxnet.callback.LogValidationMetricsCallback` of MXNet 1.9.1.
    """

    def __call__(self, param: Any) -> None:
        if param.eval_metric:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
