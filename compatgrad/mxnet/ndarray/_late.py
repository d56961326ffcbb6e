"""Errors that depend on values of arrays: they are raised when a program waits for a result, as by the original.

The original computes in the background, so that `asnumpy`, `wait_to_read` or `waitall` raises the error for a wrong
parameter of a distribution, and not the call. Here the call keeps the error and gives NaN, and the next wait, for any
array, raises it once. With MXNET_ENGINE_TYPE=NaiveEngine, where the original runs operators at once, the call raises.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["at_once", "keep", "meet"]

_kept: list[Exception] = []
_at_once = False


@contextmanager
def at_once() -> Iterator[None]:
    """Inside the `with` block, errors are raised at once: runs that only infer shapes have no wait after them."""
    global _at_once
    before, _at_once = _at_once, True
    try:
        yield
    finally:
        _at_once = before


def keep(error: Exception) -> None:
    """Has `error` raised by the next wait."""
    if _at_once or os.environ.get("MXNET_ENGINE_TYPE") == "NaiveEngine":
        try:
            raise error
        finally:
            del error  # else this frame, which the error's traceback holds, would hold the error: a cycle
    _kept.append(error)


def meet() -> None:
    """Raises the first error that was kept, and drops the others, as the original does."""
    if _kept:
        first = _kept[0]
        _kept.clear()
        try:
            raise first
        finally:
            del first
