"""Who asks for a name: the program, or a library that was installed beside it."""

from __future__ import annotations

import functools
import os
import re
import sys
from types import FrameType

# modules that ask on behalf of their caller: they import what it names, or what its pickles name
_CARRIERS = {
    "importlib",
    "importlib._bootstrap",
    "importlib._bootstrap_external",
    "pickle",
    "copyreg",
    "numpy.lib.npyio",
    "numpy.lib.format",
    "numpy.lib._npyio_impl",
    "numpy.lib._format_impl",
    "joblib.numpy_pickle",
    "torch.serialization",
    "torch._weights_only_unpickler",
}

# Packages on the site path that were written for an original are as old as the programs. Most of them say that they
# require it; some of these do not.
COMPANIONS = ("chainer_chemistry", "chainercv", "chainerrl", "d2lzh", "gluoncv", "gluonnlp", "insightface", "mxboard")
_ORIGINALS = ("chainer", "mxnet", "nnabla")

_LIBRARY, _PROGRAM, _CARRIER = range(3)
_kinds: dict[str, int] = {}  # by file


# the standard library, and compatgrad; in a virtual environment the former is the base interpreter's
_LIBRARY_FOLDERS = tuple(
    {
        os.path.join(form, "")
        for path in (os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        for form in (path, os.path.realpath(path))
    }
)


@functools.cache
def _is_companion(folder: str, package: str) -> bool:
    """Whether a package of a site folder was written for an original."""
    if package in COMPANIONS:
        return True
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".dist-info")]
    except OSError:
        return False
    for name in names:
        if name.partition("-")[0].lower().replace("-", "_") == package.lower():
            return any(_requires(os.path.join(folder, name, "METADATA"), original) for original in _ORIGINALS)
    return False


def _requires(metadata: str, original: str) -> bool:
    try:
        with open(metadata, encoding="utf-8", errors="replace") as file:
            return any(re.match(rf"Requires-Dist: {original}\b(?!-)", line) for line in file)
    except OSError:
        return False


def _is_library(file: str) -> bool:
    path = os.path.abspath(file)
    parts = path.split(os.sep)
    for place in ("site-packages", "dist-packages"):
        if place in parts:
            after = parts[parts.index(place) + 1 :]
            folder = os.sep.join(parts[: parts.index(place) + 1])
            return not after or not _is_companion(folder, after[0].removesuffix(".py"))
    return path.startswith(_LIBRARY_FOLDERS)


def _kind(frame: FrameType) -> int:
    module = str(frame.f_globals.get("__name__", ""))
    if module in _CARRIERS:
        return _CARRIER
    if module in ("__main__", "__mp_main__"):
        return _PROGRAM
    file = frame.f_code.co_filename
    if file.startswith("<"):  # code from a string
        if file.startswith("<frozen"):
            return _LIBRARY
        file = frame.f_globals.get("__file__") or ""
        if not file:
            return _PROGRAM
    return _LIBRARY if _is_library(file) else _PROGRAM


def program_frame(frame: FrameType | None) -> FrameType | None:
    """The frame of the program that asks, if `frame` or what it asks for is the program's; None if a library asks."""
    while frame is not None:
        file = frame.f_code.co_filename
        kind = _kinds.get(file)
        if kind is None:
            kind = _kind(frame)
            if not file.startswith("<"):  # several modules may have code from strings
                _kinds[file] = kind
        if kind != _CARRIER:
            return frame if kind == _PROGRAM else None
        if frame.f_globals.get("__name__") == "importlib" and frame.f_code.co_name != "import_module":
            return None
        frame = frame.f_back
    return None


def place(frame: FrameType) -> str:
    """FILE:LINE as messages write it: relative, if the file is in or below the working folder."""
    file = frame.f_code.co_filename
    try:
        short = os.path.relpath(file)
    except (ValueError, OSError):  # another drive, or the working folder is gone
        short = file
    return f"{file if short.startswith(os.pardir) or file.startswith('<') else short}:{frame.f_lineno}"


def spelled(name: str) -> str:
    """The name as programs write it."""
    return "np." + name.removeprefix("numpy.") if name.startswith("numpy.") else name


def calling_frame(depth: int = 1) -> FrameType:
    return sys._getframe(depth + 1)
