"""Errors that say of which file they tell."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["names_of", "naming", "reading"]

_KINDS = (TypeError, IndexError, KeyError, AttributeError, OverflowError, MemoryError, ValueError, RuntimeError)


def names_of(files: Any) -> str:
    """How errors call a file, or several: by name, open ones by theirs."""
    several = files if isinstance(files, (list, tuple)) else [files]
    return ", ".join(
        os.fsdecode(f) if isinstance(f, (str, bytes, os.PathLike)) else str(getattr(f, "name", "the file given"))
        for f in several
    )


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Puts `source` before the words of an error, of the same kind, that does not have it; for "" nothing changes."""
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
    """Says of which file, which should be of the format `kind`, its reader tells: BadZipFile, OSError, ValueError."""
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError, ImportError):
        raise
    except Exception as error:  # what the readers of broken files raise is of all kinds
        words = f"{names_of(path)} is no readable {kind} file: {error}"
        if isinstance(error, zipfile.BadZipFile):
            raise zipfile.BadZipFile(words) from error
        raise (OSError if isinstance(error, (OSError, RuntimeError, KeyError)) else ValueError)(words) from error
