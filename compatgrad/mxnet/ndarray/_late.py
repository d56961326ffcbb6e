"""Errors that only values tell of: raised where somebody waits for a result, as by the original's engine.

The original computes in the background, so a wrong parameter of a distribution is met by `asnumpy`, `wait_to_read` or
`waitall` and not by the call. Here the call keeps the error and gives NaN, and the next wait for whatever array raises
it, once. With MXNET_ENGINE_TYPE=NaiveEngine, by which the original runs operators at once, the call itself raises.
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
    """Inside, what would be kept is raised: nobody waits for the results of runs that only tell shapes."""
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
            del error  # the traceback holds this frame, which is not to hold the error
    _kept.append(error)


def meet() -> None:
    """Raises the first error that was kept; all are forgotten, as there."""
    if _kept:
        first = _kept[0]
        _kept.clear()
        try:
            raise first
        finally:
            del first
