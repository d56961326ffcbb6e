"""Where a program is: the line of its own code that called compatgrad."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType

#: the folder of compatgrad itself
OWN = str(Path(__file__).resolve().parents[1]) + os.sep
_LIBRARIES = tuple(
    {os.path.join(folder, "") for name in ("stdlib", "platstdlib", "purelib", "platlib")
     if (folder := sysconfig.get_path(name))}
)  # fmt: skip


@lru_cache(maxsize=4096)
def _rank(code: CodeType) -> int:
    """0 for code of the program, 1 for code of a library, 2 for compatgrad's and for Python's own start-up code."""
    file = code.co_filename
    if file.startswith(OWN) or file.startswith("<frozen"):
        return 2
    return int(file.startswith(_LIBRARIES) or "site-packages" in file)


def program_frame(frame: FrameType | None = None) -> FrameType | None:
    """The innermost frame of the program below `frame` (None: of the caller); if only a library called compatgrad, the
    innermost frame of the library; None if neither did."""
    frame = sys._getframe(1) if frame is None else frame
    library = None
    while frame is not None:
        # functions that compatgrad makes from texts have globals without a module's name
        if "__name__" in frame.f_globals:
            rank = _rank(frame.f_code)
            if rank == 0:
                return frame
            if rank == 1 and library is None:
                library = frame
        frame = frame.f_back
    return library


def shown(file: str) -> str:
    """A file's path, relative to the current folder if it is below it."""
    try:
        relative = os.path.relpath(file)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return file
    return file if file.startswith("<") or relative.startswith("..") else relative


def program_line() -> str:
    """The line of the program that is running, as "train.py:12"; "" if there is none."""
    frame = program_frame(sys._getframe(1))
    return "" if frame is None else f"{shown(frame.f_code.co_filename)}:{frame.f_lineno}"
