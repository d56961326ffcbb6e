"""Containers of blocks and parameters that count their changes, so that code which has read them can ask again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

__all__ = ["Changes", "CountedDict", "CountedList", "Epoch"]


class Changes:
    """`last` is another object after each change of a block (of an attribute, a child or a hook), or of a parameter's
    list of arrays. A number could miss changes by several threads.
    """

    last = object()


class Epoch:
    """`value` is another object whenever a parameter gets other arrays or gradients, so that code that caches them
    notices the change. A number could miss changes by several threads.
    """

    value = object()


def _counted(name: str, base: type) -> Callable[..., Any]:
    method = getattr(base, name)

    def changing(self: Any, *args: Any, **kwargs: Any) -> Any:
        Changes.last = object()
        if base is list:  # else a Trainer would update the array that a program has replaced
            Epoch.value = object()
        return method(self, *args, **kwargs)

    changing.__name__ = name
    changing.__doc__ = method.__doc__
    return changing


class CountedDict(OrderedDict[Any, Any]):
    """A dict in which each change is counted."""


class CountedList(list[Any]):
    """The arrays or the gradients of a parameter, a list in which each change is counted."""


for _base, _cls, _names in (
    (OrderedDict, CountedDict, "__setitem__ __delitem__ __ior__ clear pop popitem setdefault update move_to_end"),
    (list, CountedList, "__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse sort"),
):
    for _name in _names.split():
        setattr(_cls, _name, _counted(_name, _base))
