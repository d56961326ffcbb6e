"""The log of a training on the screen."""

import sys

from compatgrad.chainer.training import extension
from compatgrad.chainer.training.extensions import log_report as log_report_module
from compatgrad.chainer.training.extensions import util


class PrintReport(extension.Extension):
    """Prints new entries of a `LogReport` as lines of a table.

    `entries`: names of the columns. `log_report`: name of the extension, or a `LogReport` that nobody else
    calls; TypeError for anything else. `out`: where to print, by default the standard output.
    """

    def __init__(self, entries, log_report="LogReport", out=None):
        self._entries = entries
        self._log_report = log_report
        self._out = sys.stdout if out is None else out
        self._log_len = 0  # number of entries printed
        widths = [max(10, len(entry)) for entry in entries]
        self._header = "  ".join([f"{entry:{w}}" for entry, w in zip(entries, widths, strict=True)]) + "\n"
        self._templates = [(entry, f"{{:<{w}g}}  ", " " * (w + 2)) for entry, w in zip(entries, widths, strict=True)]

    def __call__(self, trainer):
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
            util.erase_display(self._out)  # a progress bar may be there
            self._print(entry)
        self._log_len = len(log_report.log)

    def serialize(self, serializer):
        if isinstance(self._log_report, log_report_module.LogReport):
            self._log_report.serialize(serializer["_log_report"])

    def _print(self, observation):
        for entry, template, empty in self._templates:
            self._out.write(template.format(observation[entry]) if entry in observation else empty)
        self._out.write("\n")
        if hasattr(self._out, "flush"):
            self._out.flush()
