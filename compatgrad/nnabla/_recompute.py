"""Whether new Variables are computed again in backward instead of kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["get_global_recompute", "global_recompute", "recompute", "set_global_recompute"]

_recompute = False


def set_global_recompute(value: bool) -> None:
    """Sets what new Variables have in `Variable.recompute`."""
    global _recompute
    _recompute = bool(value)


def get_global_recompute() -> bool:
    return _recompute


global_recompute = get_global_recompute


@contextlib.contextmanager
def recompute(recompute_: bool = True) -> Iterator[None]:
    """Variables made inside the `with` block are computed again in backward, which saves memory."""
    old = _recompute
    set_global_recompute(recompute_)
    try:
        yield
    finally:
        set_global_recompute(old)
