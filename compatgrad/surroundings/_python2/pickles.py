"""`cPickle`: Python 2's pickles contain text as bytes, which Python 3 decodes as ASCII unless it is told otherwise."""

from __future__ import annotations

import pickle
from pickle import *  # noqa: F403
from pickle import HIGHEST_PROTOCOL as HIGHEST_PROTOCOL
from typing import Any


def loads(data: bytes, **options: Any) -> Any:  # type: ignore[no-redef]
    if options:
        return pickle.loads(data, **options)
    try:
        return pickle.loads(data)
    except UnicodeDecodeError:
        return pickle.loads(data, encoding="latin1")


def load(file: Any, **options: Any) -> Any:  # type: ignore[no-redef]
    if options or not (hasattr(file, "seekable") and file.seekable()):
        return pickle.load(file, **options)
    start = file.tell()
    try:
        return pickle.load(file)
    except UnicodeDecodeError:
        file.seek(start)
        return pickle.load(file, encoding="latin1")
