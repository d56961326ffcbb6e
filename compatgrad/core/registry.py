"""The backward registry: every native op by name, and what a user put in the place of its backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad import _C

__all__ = ["register", "show_registry"]

_decorator: Any = object()


def register(name: str, fn: Callable | None = _decorator):
    """Replaces the backward of the op `name`, for all frontends; None restores it.

    ``fn(node, grad_outputs)`` returns one Variable or None per input of the op. Without it, `register` is a
    decorator: ``@register("sin")``. Raises ValueError for an op that does not exist.
    """
    if fn is _decorator:
        if name not in _C.registry():
            raise ValueError(f"there is no op {name!r}; compatgrad.show_registry() lists them")
        return lambda fn: register(name, fn)
    _C.register(name, fn)
    return fn


def show_registry() -> None:
    """Prints every op, and where its backward comes from."""
    for name, fn in sorted(_C.registry().items()):
        where = "built in" if fn is None else f"{fn.__module__}.{fn.__qualname__}"
        print(f"{name}: {where}")
