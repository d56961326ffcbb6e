"""Progress bars on a terminal."""

from __future__ import annotations

import collections
import datetime
import os
import sys
import time
from typing import Any


def _enable_escape_sequences():
    if os.name == "nt":
        os.system("")  # its side effect makes a Windows terminal obey escape sequences


def erase_display(out: Any) -> None:
    """Erases the terminal from the cursor to its end.

    Args:
        out: the terminal's file.

    Raises:
        AttributeError: `out` has no method `write`.

    Example:
        >>> import io
        >>> out = io.StringIO()
        >>> chainer.training.extensions.util.erase_display(out)
        >>> out.getvalue()
        '\\x1b[J'

    Source: `chainer.training.extensions.util.erase_display` of Chainer 7.8.1.
    """
    out.write("\033[J")


class ProgressBar:
    """Base class of progress bars on a terminal. A subclass defines `get_lines`.

    Args:
        bar_length: number of characters of a bar; None is 50.
        out: the terminal's file; None is the standard output.

    Example:
        >>> class Half(chainer.training.extensions.util.ProgressBar):
        ...     def get_lines(self):
        ...         return [self.format_bar("half", 0.5)]
        >>> Half(bar_length=10).get_lines()
        ['half [#####.....] 50.00%\\n']

    Source: `chainer.training.extensions.util.ProgressBar` of Chainer 7.8.1.
    """

    def __init__(self, bar_length: int | None = None, out: Any = None) -> None:
        _enable_escape_sequences()
        self._bar_length = 50 if bar_length is None else bar_length
        self._out = sys.stdout if out is None else out
        self._recent_timing = collections.deque([], maxlen=100)

    def update_speed(self, iteration: int, epoch_detail: float) -> tuple[float, float]:
        """Iterations and epochs per second over the last calls."""
        now = time.time()
        self._recent_timing.append((iteration, epoch_detail, now))
        old_iteration, old_epoch, old_time = self._recent_timing[0]
        span = now - old_time
        if span == 0:
            return float("inf"), float("inf")
        return (iteration - old_iteration) / span, (epoch_detail - old_epoch) / span

    def format_bar(self, name: str, rate: float) -> str:
        """A line with a bar of which the fraction `rate` is filled."""
        marks = "#" * int(rate * self._bar_length)
        return f"{name} [{marks:.<{self._bar_length}}] {rate:6.2%}\n"

    def _format_speed(self, speed: float, seconds: float) -> str:
        """A line with the iterations per second and the time that is left."""
        left = datetime.timedelta(seconds=seconds)
        return f"{speed:10.5g} iters/sec. Estimated time to finish: {left}.\n"

    def get_lines(self) -> list[str]:
        """The lines to show."""
        raise NotImplementedError

    def update(self) -> None:
        """Replaces the shown lines by new ones."""
        self.erase_console()
        lines = self.get_lines()
        self._out.writelines(lines)
        self.move_cursor_up(len(lines))
        self.flush()

    def close(self) -> None:
        """Removes the lines."""
        self.erase_console()
        self.flush()

    def erase_console(self) -> None:
        """Erases the terminal from the cursor to its end."""
        erase_display(self._out)

    def move_cursor_up(self, n: int) -> None:
        """Moves the cursor `n` lines up."""
        self._out.write(f"\033[{n:d}A")

    def flush(self) -> None:
        """Flushes the output, where it can be."""
        if hasattr(self._out, "flush"):
            self._out.flush()
