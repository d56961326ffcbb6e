"""What is called during training to report on it."""

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
    """A callback at the end of an epoch that saves a module every `period` epochs."""
    period = max(1, int(period))

    def callback(epoch: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (epoch + 1) % period == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    return callback


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """A callback at the end of an epoch that saves symbol and parameters every `period` epochs."""
    period = max(1, int(period))

    def callback(epoch: int, sym: Any, arg: Any, aux: Any) -> None:
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, sym, arg, aux)

    return callback


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """A callback at the end of a batch that logs the metric every `period` batches."""

    def callback(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return callback


class Speedometer:
    """A callback at the end of a batch that logs samples per second, and the metric, every `frequent` batches.

    `auto_reset`: the metric then starts anew.
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
    """A callback at the end of a batch that logs a bar of `length` characters, full after `total` batches."""

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total

    def __call__(self, param: Any) -> None:
        done = param.nbatch / float(self.total)
        filled = int(round(self.bar_len * done))
        logging.info("[%s] %s%s\r", "=" * filled + "-" * (self.bar_len - filled), math.ceil(100.0 * done), "%")


class LogValidationMetricsCallback:
    """A callback at the end of an evaluation that logs the metric."""

    def __call__(self, param: Any) -> None:
        if param.eval_metric:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
