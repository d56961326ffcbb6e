"""An extension that prints a training log."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compatgrad.chainer.training import extension
from compatgrad.chainer.training.extensions import log_report as log_report_module
from compatgrad.chainer.training.extensions import util

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


class PrintReport(extension.Extension):
    """Prints new entries of a `LogReport` as lines of a table.

    Args:
        entries: names of the columns.
        log_report: name of the extension, or a `LogReport` that the trainer does not call.
        out: file that takes the text; None is the standard output.

    Raises:
        TypeError: when the extension is called, `log_report` is neither a name nor a `LogReport`.
        ValueError: when the extension is called, the trainer has no extension of this name.

    Example:
        >>> import io
        >>> from compatgrad.chainer import testing
        >>> report = chainer.training.make_extension(priority=300)(lambda trainer: chainer.report({"loss": 3.0}))
        >>> log = chainer.training.extensions.LogReport(trigger=(2, "iteration"))
        >>> out = io.StringIO()
        >>> table = chainer.training.extensions.PrintReport(["iteration", "loss"], log, out)
        >>> testing.get_trainer_with_mock_updater((4, "iteration"), extensions=[report, table]).run()
        >>> print(out.getvalue().replace("\\033[J", ""))  # which erases a progress bar
        iteration   loss
        2           3
        4           3

    Source: `chainer.training.extensions.PrintReport` of Chainer 7.8.1.
    """

    def __init__(self, entries: Sequence[str], log_report: Any = "LogReport", out: Any = None) -> None:
        self._entries = entries
        self._log_report = log_report
        self._out = sys.stdout if out is None else out
        self._log_len = 0  # number of entries printed
        widths = [max(10, len(entry)) for entry in entries]
        self._header = "  ".join([f"{entry:{w}}" for entry, w in zip(entries, widths, strict=True)]) + "\n"
        self._templates = [(entry, f"{{:<{w}g}}  ", " " * (w + 2)) for entry, w in zip(entries, widths, strict=True)]

    def __call__(self, trainer: Trainer) -> None:
        if self._header:
            self._out.write(self._header)
            self._header = None
        log_report = self._log_report
        if isinstance(log_report, str):
            log_report = trainer.get_extension(log_report)
        elif isinstance(log_report, log_report_module.LogReport):
            log_report(trainer)
        else:
            raise TypeError(f"log report has a wrong type {type(log_report)}")
        for entry in log_report.log[self._log_len :]:
            util.erase_display(self._out)  # erases a progress bar, which may stand there
            self._print(entry)
        self._log_len = len(log_report.log)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads its own `LogReport`."""
        if isinstance(self._log_report, log_report_module.LogReport):
            self._log_report.serialize(serializer["_log_report"])

    def _print(self, observation):
        for entry, template, empty in self._templates:
            self._out.write(template.format(observation[entry]) if entry in observation else empty)
        self._out.write("\n")
        if hasattr(self._out, "flush"):
            self._out.flush()
