"""Errors that only values tell of: raised where somebody waits for a result, as by the original's engine.

The original computes in the background, so a wrong parameter of a distribution is met by `asnumpy`, `wait_to_read` or
`waitall` and not by the call. Here the call keeps the error and gives NaN, and the next wait for whatever array raises
it, once. With MXNET_ENGINE_TYPE=NaiveEngine, by which the original runs operators at once, the call itself raises.
"""

from __future__ import annotations

import os

__all__ = ["keep", "meet"]

_kept: list[Exception] = []


def keep(error: Exception) -> None:
    """Has `error` raised by the next wait."""
    if os.environ.get("MXNET_ENGINE_TYPE") == "NaiveEngine":
        raise error
    _kept.append(error)


def meet() -> None:
    """Raises the first error that was kept; all are forgotten, as there."""
    if _kept:
        first = _kept[0]
        _kept.clear()
        raise first
