"""The backward registry: every native op by name, and the functions with which users replace its backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from compatgrad import _C

__all__ = ["register", "show_registry"]

_Backward: TypeAlias = Callable[[Any, tuple[Any, ...]], Any]
_decorator: Any = object()


def register(name: str, fn: _Backward | None = _decorator) -> Any:
    """Replaces the backward of an op, for all frontends.

    Args:
        name: the name of the op; `show_registry` prints all names.
        fn: `fn(node, grad_outputs)`, which gets the function node and a tuple of Variables (None for an output without
            a gradient) and returns a sequence with one Variable, or None, for each input of the op. None restores the
            built-in backward. Without this argument `register` is a decorator.

    Returns:
        `fn`, or the decorator.

    Raises:
        TypeError: `fn` is neither callable nor None.
        ValueError: there is no such op.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> @compatgrad.register("sin")
        ... def twice(node, grad_outputs):
        ...     return (grad_outputs[0] * 2,)
        >>> x = compatgrad.Variable(torch.zeros(2))
        >>> compatgrad.grad([compatgrad.ops.sin(x).sum()], [x])[0].tensor
        tensor([2., 2.])
        >>> compatgrad.register("sin", None)
        >>> compatgrad.grad([compatgrad.ops.sin(x).sum()], [x])[0].tensor
        tensor([1., 1.])

    Source: `compatgrad/core/registry.py`, `csrc/python/registry.cpp`.
    """
    if fn is _decorator:
        if name not in _C.registry():
            raise ValueError(f"there is no op {name!r}; compatgrad.show_registry() lists them")
        return lambda fn: register(name, fn)
    _C.register(name, fn)
    return fn


def show_registry() -> None:
    """Prints every op, one per line, and its backward: "built in", or the function given to `register`.

    >>> import compatgrad
    >>> compatgrad.show_registry()  # doctest: +ELLIPSIS
    abs: built in
    ...

    Source: `compatgrad/core/registry.py`.
    """
    for name, fn in sorted(_C.registry().items()):
        where = "built in" if fn is None else f"{fn.__module__}.{fn.__qualname__}"
        print(f"{name}: {where}")
