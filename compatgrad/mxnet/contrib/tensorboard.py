"""LogMetricsCallback: writes metrics for TensorBoard."""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["LogMetricsCallback"]


class LogMetricsCallback:
    """A callback that writes the metrics of a batch or an evaluation to TensorBoard's files, by the package mxboard.

    If the package is not installed, an error is logged, and calls raise AttributeError.

    Args:
        logging_dir: the folder of the files.
        prefix: stands before the names of metrics, with "-" between; None for none.

    Example:
        Needs the package mxboard::

            mod.fit(data, eval_end_callback=mx.contrib.tensorboard.LogMetricsCallback("logs", prefix="validation"))

    Source: `mxnet.contrib.tensorboard.LogMetricsCallback` of MXNet 1.9.1.
    """

    def __init__(self, logging_dir: str, prefix: str | None = None) -> None:
        self.prefix = prefix
        try:
            from mxboard import SummaryWriter
        except ImportError:
            logging.error("You can install mxboard via `pip install mxboard`.")
        else:
            self.summary_writer = SummaryWriter(logging_dir)

    def __call__(self, param: Any) -> None:
        """Writes the metrics of `param` at its epoch."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            shown = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(shown, value, global_step=param.epoch)
