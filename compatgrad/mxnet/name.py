"""Automatic names of symbols and blocks: `NameManager` counts per hint, `Prefix` puts a string before each name."""

from __future__ import annotations

import threading
import warnings
from typing import Any

__all__ = ["NameManager", "Prefix"]


def _warn_of_current() -> None:
    warnings.warn("NameManager.current is deprecated. Use `with` with a NameManager.", DeprecationWarning, stacklevel=3)


class _Scopes(threading.local):
    """The innermost scope of each thread, kept as `value`; made at the first use of a thread."""

    def __init__(self) -> None:
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
    """Gives the names `hint0`, `hint1`, … to what is made without a name inside a `with` block.

    Example:
        >>> with mx.name.NameManager():
        ...     print(mx.sym.exp(mx.sym.var("x")).name, mx.sym.exp(mx.sym.var("x")).name)
        exp0 exp1

    Source: `mxnet.name.NameManager` of MXNet 1.9.1.
    """

    _current: threading.local

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._old_manager = None

    def get(self, name: str | None, hint: str) -> str:
        """`name` where it is given, else the next name for `hint` (str)."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        self._old_manager = NameManager._current.value
        NameManager._current.value = self
        return self

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        NameManager._current.value = self._old_manager


class Prefix(NameManager):
    """A manager of names that puts a text before each name, also before given ones.

    Args:
        prefix: the text.

    Example:
        >>> with mx.name.Prefix("net_"):
        ...     print(mx.sym.exp(mx.sym.var("x")).name)
        net_exp0

    Source: `mxnet.name.Prefix` of MXNet 1.9.1.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The prefix and what NameManager gives."""
        return self._prefix + super().get(name, hint)


NameManager._current = _Scopes()
