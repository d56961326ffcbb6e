"""Whether new Variables are computed again in backward instead of kept."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from compatgrad import _C

__all__ = ["get_global_recompute", "recompute", "recompute_fn", "set_global_recompute"]

_recompute = False


def set_global_recompute(recompute: bool) -> None:
    """Sets what new Variables have in `Variable.recompute`."""
    global _recompute
    _recompute = bool(recompute)
    _C.set_global_recompute(_recompute)


def get_global_recompute() -> bool:
    """What new Variables have in `Variable.recompute`."""
    return _recompute


@contextlib.contextmanager
def recompute(recompute_: bool = True) -> Iterator[None]:
    """Variables made inside the `with` block are computed again in backward, which saves memory."""
    old = _recompute
    set_global_recompute(recompute_)
    try:
        yield
    finally:
        set_global_recompute(old)


def recompute_fn(recompute_: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function's body runs inside `recompute(recompute_)`."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with recompute(recompute_):
                return f(*args, **kwargs)

        return wrapped

    return decorate
