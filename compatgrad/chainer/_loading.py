"""Makes a load atomic: where it fails, everything that it has changed gets its old value back. A `serialize` method
reads values one by one and may store them anywhere, so nobody knows beforehand what a load will change. Therefore, when
a value is read, the attributes of every object whose `serialize` is running are recorded, and before a value is copied
into an array, the elements of that array.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from types import FrameType
from typing import Any

__all__ = ["all_or_nothing", "before"]

_CONTAINERS = (dict, list, set, OrderedDict, defaultdict)
_under_way = threading.local()


class _Journal:
    """The state before a load: attributes of objects, contents of containers and elements of arrays."""

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.owners: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.containers: dict[int, tuple[Any, Any]] = {}
        self.empty: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.arrays: dict[int, tuple[Any, Any]] = {}

    def note_owners(self, frame: FrameType | None) -> None:
        """Records the objects whose methods are running, from `frame` up to the frame that began the load."""
        while frame is not None and frame is not self.frame:
            code = frame.f_code
            if code.co_argcount:
                owner = frame.f_locals.get(code.co_varnames[0])
                if id(owner) not in self.owners and hasattr(type(owner), "serialize") and hasattr(owner, "__dict__"):
                    self._note_owner(owner)
            frame = frame.f_back

    def _note_owner(self, owner: Any) -> None:
        attributes = dict(vars(owner))
        self.owners[id(owner)] = owner, attributes
        for value in attributes.values():
            if type(value) in _CONTAINERS:
                self.containers.setdefault(id(value), (value, value.copy()))
            elif getattr(value, "is_initialized", True) is False:  # a parameter whose shape comes from the file
                self.empty.setdefault(id(value), (value, dict(vars(value))))

    def note_array(self, array: Any) -> None:
        self.arrays.setdefault(id(array), (array, array.copy()))

    def put_back(self) -> None:
        for array, elements in self.arrays.values():
            array[...] = elements
        for parameter, attributes in self.empty.values():
            parameter.array = None
            parameter.grad = None
            _set(vars(parameter), attributes)
        for container, items in self.containers.values():
            _set(container, items)
        for owner, attributes in self.owners.values():
            _set(vars(owner), attributes)

    def join(self, later: _Journal) -> None:
        """Adds the records of a load that ran inside this one."""
        for mine, its in (
            (self.owners, later.owners),
            (self.containers, later.containers),
            (self.empty, later.empty),
            (self.arrays, later.arrays),
        ):
            for key, value in its.items():  # type: ignore[attr-defined]
                mine.setdefault(key, value)  # type: ignore[attr-defined]


def _set(container: Any, items: Any) -> None:
    container.clear()
    if isinstance(container, list):
        container.extend(items)
    else:
        container.update(items)


@contextlib.contextmanager
def all_or_nothing() -> Iterator[None]:
    """Context manager of a load, within which deserializers call `before`: where an exception ends the block,
    everything gets its old value back.

    Yields:
        None.

    Example:
        >>> chainer.serializers.save_npz("part.npz", L.Linear(1, 1, nobias=True, initialW=5))
        >>> layer = L.Linear(1, 1, initialW=3)
        >>> try:
        ...     chainer.serializers.load_npz("part.npz", layer)
        ... except KeyError:
        ...     print("there is no bias;", layer.W.array)
        there is no bias; [[3.]]

    Source: compatgrad's own. A failed load of Chainer leaves the object partly loaded.
    """
    outer = getattr(_under_way, "journal", None)
    journal = _Journal(sys._getframe(2))  # the frame of the function that has the `with` statement
    _under_way.journal = journal
    try:
        yield
    except BaseException:
        journal.put_back()
        raise
    finally:
        _under_way.journal = outer
    if outer is not None:
        outer.join(journal)


def before(value: Any = None) -> None:
    """A deserializer calls this before it returns a value, and with an array before it copies a value into that
    array."""
    journal: _Journal | None = getattr(_under_way, "journal", None)
    if journal is None:
        return
    journal.note_owners(sys._getframe(2))
    if value is not None:
        journal.note_array(value)
