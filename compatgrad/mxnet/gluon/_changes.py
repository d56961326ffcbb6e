"""Dicts and lists that note each of their changes in `Changes`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from compatgrad.core.changes import Changes

__all__ = ["ObservedDict", "ObservedList"]


def _observed(name: str, base: type, note: Callable[[], None]) -> Callable[..., Any]:
    method = getattr(base, name)

    def changing(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        finally:  # after the change: else a thread that reads between the note and the change would miss the change
            note()

    changing.__name__ = name
    changing.__doc__ = method.__doc__
    return changing


class ObservedDict(OrderedDict[Any, Any]):
    """The children or hooks of a block. Each change is noted by `Changes.note`."""


class ObservedList(list[Any]):
    """The arrays or the gradients of a parameter. Each change is noted by `Changes.note_arrays`."""


for _cls, _base, _note, _names in (
    (
        ObservedDict, OrderedDict, Changes.note,
        "__setitem__ __delitem__ __ior__ clear pop popitem setdefault update move_to_end",
    ),
    (
        ObservedList, list, Changes.note_arrays,
        "__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse sort",
    ),
):  # fmt: skip
    for _name in _names.split():
        setattr(_cls, _name, _observed(_name, _base, _note))
