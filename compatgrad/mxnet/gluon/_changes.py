"""Containers that note their changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from compatgrad.core.changes import Changes

__all__ = ["NotedDict", "NotedList"]


def _noted(name: str, base: type, note: Callable[[], None]) -> Callable[..., Any]:
    method = getattr(base, name)

    def changing(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        finally:  # not before: a thread that reads in between would miss the change
            note()

    changing.__name__ = name
    changing.__doc__ = method.__doc__
    return changing


class NotedDict(OrderedDict[Any, Any]):
    """The children or hooks of a block."""


class NotedList(list[Any]):
    """The arrays or the gradients of a parameter."""


for _cls, _base, _note, _names in (
    (
        NotedDict, OrderedDict, Changes.note,
        "__setitem__ __delitem__ __ior__ clear pop popitem setdefault update move_to_end",
    ),
    (
        NotedList, list, Changes.note_arrays,
        "__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse sort",
    ),
):  # fmt: skip
    for _name in _names.split():
        setattr(_cls, _name, _noted(_name, _base, _note))
