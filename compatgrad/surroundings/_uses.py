"""What the program was given, and where."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import NamedTuple

from compatgrad.surroundings._callers import place, program_frame, spelled
from compatgrad.surroundings._row import Row


class Use(NamedTuple):
    """A name that the program was given, at one of its lines."""

    library: str
    name: str
    removed: str  # the version of the library that removed it; empty if the library is not installed
    year: int
    now: str  # what a program of today uses instead
    file: str
    line: int
    count: int  # type: ignore[assignment]  # hides the method of tuples


_lock = threading.Lock()
_rows: dict[str, Row] = {}  # by name
_counts: dict[tuple[str, str, int], int] = {}  # name, file, line
_declined: set[tuple[str, str, int]] = set()
_told = False
_off = ""  # what turns this off, in words


def start(off: str, quiet: bool) -> None:
    """Forgets all uses. `off` says how the user turns this off; without a line on stderr if `quiet`."""
    global _off, _told
    with _lock:
        _counts.clear()
        _declined.clear()
        _off, _told = off, quiet


def is_given(row: Row, asking: FrameType, is_module: bool = False, asked_for: bool = False) -> bool:
    """Whether whoever asks gets the name: the program does, where it has no answer to the name's absence. Counts the
    use, and tells the first one of all, unless the user asked for it."""
    global _told
    frame = program_frame(asking)
    if frame is None:
        return False
    if asking.f_code.co_name == "_handle_fromlist":  # `from collections import Iterable` asks once more
        return True
    key = (row.name, frame.f_code.co_filename, frame.f_lineno)
    if key not in _counts:
        if key in _declined:
            return False
        from compatgrad.surroundings._questions import expects_absence

        if expects_absence(frame, row.name.rpartition(".")[2], is_module):
            _declined.add(key)
            return False
        _rows[row.name] = row
    with _lock:
        _counts[key] = _counts.get(key, 0) + 1
        first = not (_told or asked_for)
        _told = _told or first
    if first and sys.stderr is not None:
        text = f"compatgrad: {spelled(row.name)} ({row.why}) is given to {place(frame)}; {_off} turns this off"
        print(text, file=sys.stderr)
    return True


def used() -> list[Use]:
    with _lock:
        found = list(_counts.items())
    return [Use(*_rows[name][:5], file, line, count) for (name, file, line), count in found]
