"""Objects that a `with` statement makes the innermost ones of their kind in its thread."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from compatgrad import _C
from compatgrad.core.configuration import Settings


class _Innermost(threading.local):
    """The innermost scope of each thread, kept as `value`; the outermost is made at the first use of a thread."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.value = make()


class _ScopeType(type):
    _current: _Innermost
    _kind: tuple[str, bool]  # what warnings call the scopes, and whether a change of `current` warns too

    @property
    def current(cls):
        """The innermost scope (deprecated; `with` statements take its place)."""
        cls._warn()
        return cls._current.value

    @current.setter
    def current(cls, scope):
        if cls._kind[1]:
            cls._warn()
        cls._current.value = scope

    def _warn(cls):
        kind = cls._kind[0]
        name = kind.split()[-1]
        warnings.warn(f"{name}.current is deprecated. Use `with` with {kind}.", DeprecationWarning, stacklevel=3)


class Scope(_C.Scope, metaclass=_ScopeType):
    """Base of the kinds of scopes; `_current.value` is the innermost one of the thread."""

    def __init_subclass__(cls, kind: tuple[str, bool] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind is not None:
            cls._kind = kind
            cls._current = _Innermost(cls)

    def _settings(self) -> Settings:
        return {}, ((type(self)._current, "value", self),), self

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__  # the C++ part, which counts open `with` blocks, is left out: a copy is not entered
