"""Statistics of the arrays of executors, for debugging."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from compatgrad.core import notes

from . import ndarray as nd
from .ndarray import NDArray

__all__ = ["Monitor"]


def _mean_size(x: NDArray) -> NDArray:
    return nd.norm(x) / x.size**0.5


class Monitor:
    r"""Collects a statistic of outputs, weights and gradients of executors, for debugging.

    Call `install(executor)` once, `tic()` before each forward pass, and `toc()` or `toc_print()` after it.

    Args:
        interval: collects every `interval` batches.
        stat_func: function of an NDArray that gives one or a list of them; None: its norm over the root of its size.
        pattern: regular expression that the names of arrays must match from the beginning.
        sort: results in the order of names.
        monitor_all: also what goes into operators.

    Example:
        >>> monitor = mx.monitor.Monitor(1, stat_func=nd.sum, pattern="exp.*")
        >>> run = mx.sym.exp(mx.sym.var("x"), name="exp").bind(mx.cpu(), {"x": nd.zeros(2)})
        >>> monitor.install(run)
        >>> monitor.tic()
        >>> y = run.forward()
        >>> monitor.toc()
        [(1, 'exp_output', '2.0\t')]

    Source: `mxnet.monitor.Monitor` of MXNet 1.9.1.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.interval = interval
        self.stat_func = stat_func or _mean_size
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Any] = []

    def stat_helper(self, name: str, array: NDArray) -> None:
        """The callback that executors call for each array."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Any) -> None:
        """Watches an executor."""
        notes.note_difference("Monitor")
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Begins a batch."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Ends a batch: (number of the batch, name of the array, its statistic) of what was collected."""
        if not self.activated:
            return []
        for exe in self.exes:
            named = [*exe.arg_dict.items(), *exe.aux_dict.items()]
            for name, array in named:
                self.stat_helper(name, array)
        self.activated = False
        found, self.queue = self.queue, []
        if self.sort:
            found.sort(key=lambda entry: entry[1])
        return [(step, name, self._text(value)) for step, name, value in found]

    @staticmethod
    def _text(values: Any) -> str:
        values = values if isinstance(values, list) else [values]
        # str(): an f-string prints a NumPy number with other digits than the original does
        return "".join(str(v.asscalar() if v.shape == (1,) else v.asnumpy()) + "\t" for v in values)

    def toc_print(self) -> None:
        """Ends a batch, and logs what was collected."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)
