"""Adds the name of the file to errors about files."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["names_of", "naming", "reading"]

_KINDS = (TypeError, IndexError, KeyError, AttributeError, OverflowError, MemoryError, ValueError, RuntimeError)


def names_of(files: Any) -> str:
    """The name of a file, or of several, for error messages; that of an open file is its attribute `name`."""
    several = files if isinstance(files, (list, tuple)) else [files]
    return ", ".join(
        os.fsdecode(f) if isinstance(f, (str, bytes, os.PathLike)) else str(getattr(f, "name", "the given file"))
        for f in several
    )


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Context manager: an error whose message does not contain `source` is raised again, in the same class, with
    `source` before the message. With "" nothing changes."""
    try:
        yield
    except _KINDS as error:
        words = str(error)
        if not source or any(name in words for name in source.split(", ")):
            raise
        kind = next(kind for kind in _KINDS if isinstance(error, kind))
        raise kind(f"{source}: {words}") from error


@contextmanager
def reading(path: Any, kind: str) -> Iterator[None]:
    """Context manager for reading a file in the format `kind`: errors become BadZipFile, OSError or ValueError with the
    name of the file."""
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError, ImportError):
        raise
    except Exception as error:  # readers raise errors of many classes for broken files
        words = f"{names_of(path)} cannot be read as a {kind} file: {error}"
        if isinstance(error, zipfile.BadZipFile):
            raise zipfile.BadZipFile(words) from error
        raise (OSError if isinstance(error, (OSError, RuntimeError, KeyError)) else ValueError)(words) from error
