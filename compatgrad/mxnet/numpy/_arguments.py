"""Arguments of the functions of `mx.np`: arrays, axes, orders of elements and devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import MXNetError
from ..context import Context, current_context
from ..ndarray._operator import not_an_array
from ..ndarray.ndarray import NDArray
from ._array import ndarray

__all__: list[str] = []


def _publisher(module: dict[str, Any]) -> Callable[..., Any]:
    """A function that adds a function, under its name and aliases, to the `globals()` and `__all__` of a module."""

    def public(function: Callable[..., Any], *aliases: str) -> Callable[..., Any]:
        for name in (function.__name__, *aliases):
            module[name] = function
            module["__all__"].append(name)
        return function

    return public


def _array(who: str, x: Any, name: str = "a") -> ndarray:
    if not isinstance(x, NDArray):
        raise not_an_array(who, name, x)
    return ndarray._around(x)


def _context(ctx: Any) -> Context:
    return current_context() if ctx is None else Context(ctx)


def _order(who: str, order: str) -> None:
    if order != "C":
        raise NotImplementedError(f"{who}: order must be 'C', got {order!r}")


def _axis(who: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise MXNetError(f"{who}: axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim


def _axes(who: str, axis: Any, ndim: int) -> Any:
    """Checks an axis, a tuple of axes, or None for all; for an array without axes, 0 and -1 are allowed too."""
    for i in axis if isinstance(axis, (list, tuple)) else () if axis is None else (axis,):
        _axis(who, i, max(ndim, 1))
    return tuple(axis) if isinstance(axis, list) else axis
