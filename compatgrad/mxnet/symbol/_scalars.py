"""Operators that graphs have and `mx.nd` only as Python's operators: an array and a number, or two arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ndarray as nd
from ..ndarray._elementwise import _pair
from ._facts import PAIRS

__all__ = ["SCALARS"]


def _with_number(kind: str, reverse: bool) -> Callable[..., Any]:
    def run(data: Any, scalar: Any = 0.0, is_int: Any = None) -> Any:
        scalar = float(scalar)
        return _pair(kind, scalar, data) if reverse else _pair(kind, data, scalar)

    return run


def _with_array(kind: str) -> Callable[..., Any]:
    def run(lhs: Any, rhs: Any) -> Any:
        return _pair(kind, lhs, rhs)

    return run


SCALARS: dict[str, Callable[..., Any]] = {}
for _name, _kind in (("plus", "add"), ("minus", "sub"), ("mul", "mul"), ("div", "div"), *((k, k) for k in PAIRS)):
    SCALARS[f"_{_name}_scalar"] = _with_number(_kind, False)
    if _kind in ("sub", "div", "mod", "power"):
        SCALARS[f"_r{_name}_scalar"] = _with_number(_kind, True)
for _kind in PAIRS:
    SCALARS[f"_{_kind}"] = _with_array(_kind)
for _kind in ("add", "sub", "mul", "div"):  # a graph's elemwise_* broadcast here too
    SCALARS[f"elemwise_{_kind}"] = _with_array(_kind)
for _name in ("zeros", "ones", "full", "arange", "eye", "linspace"):
    SCALARS[f"_{_name}"] = getattr(nd, _name)


def _full(shape: Any, value: Any = 0.0, ctx: Any = None, dtype: Any = "float32") -> Any:
    return nd.full(shape, value, ctx=_context(ctx), dtype=dtype)


def _filled(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(shape: Any = None, ctx: Any = None, dtype: Any = "float32") -> Any:
        return function(shape, ctx=_context(ctx), dtype=dtype)

    return run


def _context(ctx: Any) -> Any:
    from ..ndarray._random_operators import context_of_argument

    return context_of_argument(ctx) if ctx else None


def _arange(
    start: Any = 0, stop: Any = None, step: Any = 1.0, repeat: Any = 1, infer_range: Any = False, ctx: Any = None,
    dtype: Any = "float32",
) -> Any:  # fmt: skip
    return nd.arange(start, stop, step, repeat, ctx=_context(ctx), dtype=dtype)


SCALARS.update(_full=_full, _zeros=_filled(nd.zeros), _ones=_filled(nd.ones), _arange=_arange)
