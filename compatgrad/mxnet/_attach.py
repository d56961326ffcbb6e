"""`method_of`: lets a module that imports a class add methods to it which the class's own module cannot define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def method_of(cls: type, name: str | None = None) -> Callable[[_F], _F]:
    """A decorator that makes a function a method of `cls`, under its own name or another."""

    def attach(function: _F) -> _F:
        function.__name__ = name or function.__name__
        function.__qualname__ = f"{cls.__qualname__}.{function.__name__}"
        function.__module__ = cls.__module__
        setattr(cls, function.__name__, function)
        return function

    return attach
