"""MXNet's exception classes, and `register` for more of them."""

from __future__ import annotations

from .base import MXNetError

__all__ = ["InternalError", "MXNetError", "register"]

_types: dict[str, type[Exception]] = {
    c.__name__: c for c in (ValueError, TypeError, AttributeError, IndexError, NotImplementedError)
}


def register(func_name: str | type[Exception] | None = None, cls: type[Exception] | None = None) -> object:
    """Makes an exception class known by a name: `@register`, `register("Name", cls)` or `@register("Name")`.

    Args:
        func_name: the name; None is the class's own. The class itself where the function is used as a decorator.
        cls: the class, or None for a decorator.

    Returns:
        The class, or a decorator that gives back what it decorates.

    Raises:
        Nothing.

    Example:
        >>> @mx.error.register
        ... class ShapeError(mx.MXNetError):
        ...     pass

    Source: `mxnet.error.register` of MXNet 1.9.1.
    """
    if isinstance(func_name, type):
        _types[func_name.__name__] = func_name
        return func_name

    def under_name(c: type[Exception]) -> type[Exception]:
        _types[func_name or c.__name__] = c
        return c

    return under_name if cls is None else under_name(cls)


@register
class InternalError(MXNetError):
    """An error inside the framework, not of the program that uses it.

    Args:
        msg: what went wrong; a line that asks for a report is added.

    Example:
        >>> print(mx.error.InternalError("the graph has no end"))
        the graph has no end
        MXNet hint: this is an error inside compatgrad; please report it

    Source: `mxnet.error.InternalError` of MXNet 1.9.1.
    """

    def __init__(self, msg: str) -> None:
        hint = "MXNet hint:"
        super().__init__(msg if hint in msg else f"{msg}\n{hint} this is an error inside compatgrad; please report it")
