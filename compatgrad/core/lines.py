"""Where a program is: the line of its own code that called compatgrad."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType

__all__ = ["OWN", "program_frame", "program_line", "shown"]

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
    """The innermost frame of the program below `frame`; if only a library called compatgrad, the innermost frame of the
    library.

    Args:
        frame: where the search begins; None is the caller.

    Returns:
        The frame, or None if neither the program nor a library called compatgrad.

    Raises:
        AttributeError: `frame` is no frame.

    Example:
        >>> from compatgrad.core import lines
        >>> lines.program_frame() is not None
        True

    Source: `compatgrad/core/lines.py`.
    """
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
    """A file's path, relative to the current folder if it is below it.

    Args:
        file: the path, or a name such as "<stdin>".

    Returns:
        The path to show.

    Raises:
        TypeError: `file` is no path.

    Example:
        >>> import os
        >>> from compatgrad.core import lines
        >>> lines.shown(os.path.abspath("train.py")), lines.shown("<stdin>")
        ('train.py', '<stdin>')

    Source: `compatgrad/core/lines.py`.
    """
    try:
        relative = os.path.relpath(file)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return file
    return file if file.startswith("<") or relative.startswith("..") else relative


def program_line() -> str:
    """The line of the program that is running.

    Returns:
        A text as "train.py:12", or "" if there is no such line.

    Example:
        >>> from compatgrad.core import lines
        >>> ":" in lines.program_line()
        True

    Source: `compatgrad/core/lines.py`.
    """
    frame = program_frame(sys._getframe(1))
    return "" if frame is None else f"{shown(frame.f_code.co_filename)}:{frame.f_lineno}"
