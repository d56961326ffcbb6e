"""Operators of symbols that `mx.nd` has only as Python's operators: of an array and a number, or of two arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _creation, _stored
from ._declaration import Declaration, declarations, describe
from ._elementwise import _pair
from ._random_operators import context_of_argument
from .arrays import concat, cumsum, identity
from .nn_rnn import RNN
from .shape import broadcast_to

__all__ = ["PAIRS", "SCALARS"]

PAIRS = frozenset("equal not_equal greater greater_equal lesser lesser_equal maximum minimum power mod hypot "
                  "logical_and logical_or logical_xor".split())  # fmt: skip


def _with_number(kind: str, reverse: bool) -> Callable[..., Any]:
    def run(data: Any, scalar: Any = 0.0, is_int: Any = None) -> Any:
        scalar = float(scalar)
        return _pair(kind, scalar, data) if reverse else _pair(kind, data, scalar)

    return run


def _elementwise(kind: str) -> Callable[..., Any]:
    def run(lhs: Any, rhs: Any) -> Any:
        y = _pair(kind, lhs, rhs)
        return y if lhs.stype == rhs.stype == "default" else _stored.elementwise(kind, y, lhs, rhs)

    return describe(run, Declaration("lhs, rhs"))


SCALARS: dict[str, Callable[..., Any]] = {}
for _name, _kind in (("plus", "add"), ("minus", "sub"), ("mul", "mul"), ("div", "div"), *((k, k) for k in PAIRS)):
    SCALARS[f"_{_name}_scalar"] = _with_number(_kind, False)
    if _kind in ("sub", "div", "mod", "power"):
        SCALARS[f"_r{_name}_scalar"] = _with_number(_kind, True)
for _kind in PAIRS:
    SCALARS[f"_{_kind}"] = _elementwise(_kind)
for _kind in ("add", "sub", "mul", "div"):  # in graphs, elemwise_* broadcast here too
    SCALARS[f"elemwise_{_kind}"] = _elementwise(_kind)
for _name in ("zeros", "ones", "full", "arange", "eye", "linspace"):
    SCALARS[f"_{_name}"] = getattr(_creation, _name)


def _full(shape: Any, value: Any = 0.0, ctx: Any = None, dtype: Any = "float32") -> Any:
    return _creation.full(shape, value, ctx=_context(ctx), dtype=dtype)


def _filled(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(shape: Any = None, ctx: Any = None, dtype: Any = "float32") -> Any:
        # a length of 0 or -1 is unknown, such as the batch's in states of recurrent layers; length 1 broadcasts to it
        shape = (shape,) if isinstance(shape, int) else tuple(max(n, 1) for n in shape)
        return function(shape, ctx=_context(ctx), dtype=dtype)

    return run


def _context(ctx: Any) -> Any:
    return context_of_argument(ctx) if ctx else None


def _arange(
    start: Any = 0, stop: Any = None, step: Any = 1.0, repeat: Any = 1, infer_range: Any = False, ctx: Any = None,
    dtype: Any = "float32",
) -> Any:  # fmt: skip
    return _creation.arange(start, stop, step, repeat, ctx=_context(ctx), dtype=dtype)


def _rnn_param_concat(*args: Any, dim: Any = 0) -> Any:
    return concat(*(x.reshape((-1,)) for x in args), dim=0)


def _cumsum(data: Any, axis: Any = None, dtype: Any = None) -> Any:
    return cumsum(data, axis=axis, dtype=dtype)


def _rnn(data: Any, parameters: Any, state: Any, *more: Any, **params: Any) -> Any:
    """RNN; states with a batch of length 1 are broadcast to the batch of the data."""
    n = data.shape[1]
    states = [
        broadcast_to(s, shape=(s.shape[0], n, s.shape[2]))
        if s is not None and s.ndim == 3 and s.shape[1] == 1 != n
        else s
        for s in (state, *more)
    ]
    return RNN(data, parameters, *states, **params)


SCALARS.update(
    _full=_full,
    _zeros=_filled(_creation.zeros),
    _ones=_filled(_creation.ones),
    _arange=_arange,
    _rnn_param_concat=_rnn_param_concat,
    RNN=_rnn,
    _np_cumsum=_cumsum,
    _identity_with_attr_like_rhs=lambda lhs, rhs: identity(lhs),
    _grad_add=SCALARS["elemwise_add"],
)
for _name in ("_full", "_zeros", "_ones", "_arange", "_linspace"):
    describe(SCALARS[_name], Declaration(""))
describe(_rnn_param_concat, Declaration("*args"))
describe(_rnn, declarations[RNN])
describe(SCALARS["_identity_with_attr_like_rhs"], Declaration("lhs, rhs"))
