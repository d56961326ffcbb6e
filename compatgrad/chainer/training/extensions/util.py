"""Progress bars on a terminal."""

import collections
import os
import sys
import time


def _enable_escape_sequences():
    if os.name == "nt":
        os.system("")  # has the side effect of switching them on


def erase_display(out):
    """Erase what stands below the cursor."""
    out.write("\033[J")


class ProgressBar:
    """Base class of progress bars: `get_lines` says what to show."""

    def __init__(self, bar_length=None, out=None):
        _enable_escape_sequences()
        self._bar_length = 50 if bar_length is None else bar_length
        self._out = sys.stdout if out is None else out
        self._recent_timing = collections.deque([], maxlen=100)

    def update_speed(self, iteration, epoch_detail):
        """Return iterations and epochs per second over the last calls."""
        now = time.time()
        self._recent_timing.append((iteration, epoch_detail, now))
        old_iteration, old_epoch, old_time = self._recent_timing[0]
        span = now - old_time
        if span == 0:
            return float("inf"), float("inf")
        return (iteration - old_iteration) / span, (epoch_detail - old_epoch) / span

    def format_bar(self, name, rate):
        """A line with a bar that is filled by `rate`."""
        marks = "#" * int(rate * self._bar_length)
        return f"{name} [{marks:.<{self._bar_length}}] {rate:6.2%}\n"

    def get_lines(self):
        """Return the lines to show."""
        raise NotImplementedError

    def update(self):
        """Show the lines in the place of the old ones."""
        self.erase_console()
        lines = self.get_lines()
        self._out.writelines(lines)
        self.move_cursor_up(len(lines))
        self.flush()

    def close(self):
        """Remove the lines."""
        self.erase_console()
        self.flush()

    def erase_console(self):
        """Erase what stands below the cursor."""
        erase_display(self._out)

    def move_cursor_up(self, n):
        """Move the cursor `n` lines up."""
        self._out.write(f"\033[{n:d}A")

    def flush(self):
        """Flush the output, where it can be."""
        if hasattr(self._out, "flush"):
            self._out.flush()
