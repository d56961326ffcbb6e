"""Automatic names of symbols and blocks: `NameManager` counts per hint, `Prefix` puts a string before each name."""

import threading
import warnings

__all__ = ["NameManager", "Prefix"]


def _warn_of_current():
    warnings.warn("NameManager.current is deprecated. Use `with` with a NameManager.", DeprecationWarning, stacklevel=3)


class _Scopes(threading.local):
    """The innermost scope of each thread, kept as `value`; made at the first use of a thread."""

    def __init__(self):
        self.value = NameManager()


class _ManagerType(type):
    @property
    def current(cls):
        """The innermost manager (deprecated; `with` statements take its place)."""
        _warn_of_current()
        return NameManager._current.value

    @current.setter
    def current(cls, manager):
        NameManager._current.value = manager


class NameManager(metaclass=_ManagerType):
    """Gives the names `hint0`, `hint1`, … to what is made without a name. A context manager."""

    _current: threading.local

    def __init__(self):
        self._counter: dict[str, int] = {}
        self._old_manager = None

    def get(self, name, hint):
        """`name` where it is given, else the next name for `hint` (str)."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self):
        self._old_manager = NameManager._current.value
        NameManager._current.value = self
        return self

    def __exit__(self, ptype, value, trace):
        NameManager._current.value = self._old_manager


class Prefix(NameManager):
    """A manager whose names, given ones too, start with `prefix` (str)."""

    def __init__(self, prefix):
        super().__init__()
        self._prefix = prefix

    def get(self, name, hint):
        """The prefix and what NameManager gives."""
        return self._prefix + super().get(name, hint)


NameManager._current = _Scopes()
