"""Shared code of the hooks that measure time and memory: sums per function name, and a table of these sums."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy

from compatgrad.chainer.backends import cuda


def choose_unit(value, units, factor):
    """The scale and the name of the unit in which `value`, given in the first of `units`, is easiest to read. Each unit
    is `factor` times the one before it.
    """
    scale = 1.0
    for unit in units[:-1]:
        fits = value / scale >= 1 if factor < 1 else value / (scale * factor) < 1
        if fits:
            return scale, unit
        scale *= factor
    return scale, units[-1]


def write_table(rows, file):
    """Writes rows of words to `file`, columns aligned on the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        file.write("  ".join([word.rjust(width) for word, width in zip(row, widths, strict=True)]) + "\n")
    if hasattr(file, "flush"):
        file.flush()


def format_columns(summary, names, header, unit, units, factor):
    """Rows for `write_table`: for each record of `summary` its name, its values `names` with a unit, and its
    occurrence.

    `unit` is one of `units`, ``'auto'`` for the unit that suits the largest value of a column, or ``'auto_foreach'``
    for one unit per value.
    """
    if unit not in (*units, "auto", "auto_foreach"):
        raise KeyError(unit)
    scales = {}
    for name in names:
        if unit == "auto":
            scales[name] = choose_unit(max([record[name] for record in summary.values()], default=0), units, factor)
        elif unit != "auto_foreach":
            scales[name] = factor ** units.index(unit), unit
    rows = [header]
    for key, record in summary.items():
        row = [key]
        for name in names:
            scale, suffix = scales.get(name) or choose_unit(record[name], units, factor)
            row.append(f"{record[name] / scale:3.2f}{suffix}")
        rows.append([*row, str(record["occurrence"])])
    return rows


class Stopwatch:
    """Measures nested calls by `_start` and `_stop`: on the CPU by the clock, on a GPU by events.

    `call_history` is a list of (name, seconds).
    """

    _header = "Name"
    #: units of the reports, each a thousandth of the one before it
    table = {"sec": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

    def __init__(self):
        self.call_history = []
        self._running_stack = []
        self._total_time = 0

    def _start(self, xp):
        if xp is numpy:
            self._running_stack.append(time.perf_counter())
            return
        events = cuda.Event(), cuda.Event()
        events[0].record()
        self._running_stack.append(events)

    def _stop(self, name):
        begin = self._running_stack.pop()
        if isinstance(begin, float):
            elapsed = time.perf_counter() - begin
        else:
            begin[1].record()
            begin[1].synchronize()
            elapsed = cuda.cupy.cuda.get_elapsed_time(*begin) / 1000
        self.call_history.append((name, elapsed))
        if not self._running_stack:
            self._total_time += elapsed

    def total_time(self) -> float:
        """Seconds in all calls; calls inside others do not count twice."""
        return self._total_time

    def summary(self) -> dict[str, dict[str, Any]]:
        """A dictionary of name to {'elapsed_time': seconds, 'occurrence': number of calls}, in order of
        calls.
        """
        summary = {}
        for name, elapsed in self.call_history:
            record = summary.setdefault(name, {"elapsed_time": 0, "occurrence": 0})
            record["elapsed_time"] += elapsed
            record["occurrence"] += 1
        return summary

    def print_report(self, unit: str = "auto", file: Any = sys.stdout) -> None:
        """Writes a table of `summary` to `file`.

        `unit` is ``'sec'``, ``'ms'``, ``'us'``, ``'ns'``, ``'auto'`` (by the largest time) or
        ``'auto_foreach'``.
        """
        header = [self._header, "ElapsedTime", "Occurrence"]
        columns = format_columns(self.summary(), ["elapsed_time"], header, unit, list(self.table), 1e-3)
        write_table(columns, file)
