"""The classes of errors."""

from __future__ import annotations

from .base import MXNetError

__all__ = ["InternalError", "MXNetError", "register"]

_types: dict[str, type[Exception]] = {
    c.__name__: c for c in (ValueError, TypeError, AttributeError, IndexError, NotImplementedError)
}


def register(func_name: str | type[Exception] | None = None, cls: type[Exception] | None = None) -> object:
    """Makes an exception class known by its name: `@register`, `register("Name", cls)` or `@register("Name")`."""
    if isinstance(func_name, type):
        _types[func_name.__name__] = func_name
        return func_name

    def under_name(c: type[Exception]) -> type[Exception]:
        _types[func_name or c.__name__] = c
        return c

    return under_name if cls is None else under_name(cls)


@register
class InternalError(MXNetError):
    """An error inside the framework, not of the program that uses it."""

    def __init__(self, msg: str) -> None:
        hint = "MXNet hint:"
        super().__init__(msg if hint in msg else f"{msg}\n{hint} this is an error inside compatgrad; please report it")
