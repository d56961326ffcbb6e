"""Methods that need what is built on their class: the modules above define them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def method_of(cls: type) -> Callable[[_F], _F]:
    """A decorator that makes a function a method of `cls`."""

    def attach(function: _F) -> _F:
        function.__qualname__ = f"{cls.__qualname__}.{function.__name__}"
        setattr(cls, function.__name__, function)
        return function

    return attach
