"""Functions of `mx.np` on each element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from compatgrad import _C

from ..ndarray._operator import not_an_array, op, write
from ..ndarray.ndarray import NDArray, is_recording
from ..util import _check_ufunc_options
from ._arguments import _publisher
from ._array import NUMBERS, bitwise, compare, constant, finish, floats, ndarray, pair, promoted, unmoved

__all__: list[str] = []
_public = _publisher(globals())


def _array(who: str, x: Any, name: str = "a") -> NDArray:
    if not isinstance(x, NDArray):
        raise not_an_array(who, name, x)
    return x


# ---- one array


def _unary(name: str, body: Callable[[Any], Any], exact: bool = False) -> Callable[..., Any]:
    """`exact`: integers stay what they are in between too; else they are computed in float32 and cut back."""

    def call(x: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        if isinstance(x, NUMBERS):
            return getattr(onp, name)(x)
        if not isinstance(x, NDArray):
            raise TypeError(f"{name}: type {type(x)} not supported: expected an mx.np.ndarray or a number")
        x = ndarray._around(x)
        t = x.tensor
        if t.is_floating_point() or (exact and t.dtype != torch.bool):
            y = body(x)
        elif t.dtype == torch.bool:
            y = body(floats(x))
        else:
            y = op.cast(body(floats(x)), dtype=t.dtype)
        return finish(y, out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}` of an array or a number."
    return call


_BODIES: dict[str, Callable[[Any], Any]] = {
    "abs": op.abs, "arccos": op.arccos, "arccosh": op.arccosh, "arcsin": op.arcsin, "arcsinh": op.arcsinh,
    "arctan": op.arctan, "arctanh": op.arctanh, "cbrt": op.cbrt, "ceil": op.ceil, "cos": op.cos, "cosh": op.cosh,
    "exp": op.exp, "expm1": op.expm1, "fix": op.fix, "floor": op.floor, "log": op.log, "log10": op.log10,
    "log1p": op.log1p,
    "log2": op.log2, "negative": op.neg, "positive": op.copy, "reciprocal": op.reciprocal,
    "rint": lambda x: op.ceil(x - 0.5),  # the original takes n.5 down
    "sign": op.sign, "sin": op.sin, "sinh": op.sinh, "sqrt": op.sqrt, "square": op.square, "tan": op.tan,
    "tanh": op.tanh, "trunc": op.fix,
    "degrees": lambda x: x * (180 / math.pi), "radians": lambda x: x * (math.pi / 180),
}  # fmt: skip
_EXACT = frozenset(("abs", "negative", "positive", "sign", "square"))
_ALIASES = {"abs": ("absolute", "fabs"), "degrees": ("rad2deg",), "radians": ("deg2rad",)}
for _name, _body in _BODIES.items():
    _public(_unary(_name, _body, _name in _EXACT), *_ALIASES.get(_name, ()))


def _test(name: str, body: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    def call(x: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        if isinstance(x, NUMBERS):
            return getattr(onp, name)(x)
        if out is not None and out.tensor.dtype != torch.bool:
            raise TypeError(f"{name}: out must hold booleans, not {out.dtype}")
        return finish(unmoved(constant(body(_array(name, x, "x").tensor)), x), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}` of an array: booleans."
    return call


for _name, _body in (
    ("isnan", torch.isnan), ("isinf", torch.isinf), ("isfinite", torch.isfinite), ("isposinf", torch.isposinf),
    ("isneginf", torch.isneginf), ("logical_not", torch.logical_not), ("signbit", torch.signbit),
):  # fmt: skip
    _public(_test(_name, _body))


def round(x: Any, decimals: int = 0, out: Any = None, **kwargs: Any) -> Any:
    """`numpy.round`: to a number of decimals; halves go to the even neighbour."""
    if isinstance(x, NUMBERS):
        return onp.round(x, decimals)
    scale = 10.0**decimals
    y = x if not x.tensor.is_floating_point() and decimals >= 0 else op.rint(floats(x) * scale) / scale
    return finish(y, out)


_public(round, "around", "round_")


def invert(x: Any, out: Any = None, **kwargs: Any) -> Any:
    """The bits of integers or booleans the other way round."""
    if kwargs:
        _check_ufunc_options("invert", kwargs)
    return finish(~ndarray._around(_array("invert", x, "x")), out)


_public(invert, "bitwise_not")


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None,
               **kwargs: Any) -> Any:  # fmt: skip
    """`numpy.nan_to_num`: numbers for NaN and infinities, which get no gradient."""
    t = _array("nan_to_num", x, "x").tensor
    if not t.is_floating_point():
        return op.copy(x) if copy else x
    finite = constant(torch.isfinite(t))
    y = op.where(finite, x, constant(torch.nan_to_num(t.detach(), nan, posinf, neginf)))
    return y if copy or (is_recording() and _C.in_graph(x)) else write(x, y)  # a graph's arrays stay as they are


_public(nan_to_num)


# ---- two arrays, or an array and a number


def _binary(name: str, kind: str) -> Callable[..., Any]:
    def call(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
            return getattr(onp, name)(x1, x2)
        return finish(pair(kind, x1, x2), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}` of arrays, which broadcast, or of an array and a number."
    return call


for _name, _kind, *_more in (
    ("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("true_divide", "div", "divide"),
    ("mod", "mod", "remainder"), ("power", "power"), ("maximum", "maximum", "fmax"), ("minimum", "minimum", "fmin"),
    ("hypot", "hypot"),
):  # fmt: skip
    _public(_binary(_name, _kind), *_more)


def arctan2(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
    """`numpy.arctan2`: the angle of the point (x2, x1)."""
    if kwargs:
        _check_ufunc_options("arctan2", kwargs)
    if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
        return onp.arctan2(x1, x2)
    a, b = promoted("arctan2", x1, x2)
    like = a if isinstance(a, NDArray) else b
    a, b = (floats(v if isinstance(v, NDArray) else like * 0 + v) for v in (a, b))
    return finish(op.arctan2(a, b), out)


def copysign(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
    """`numpy.copysign`: x1 with the signs of x2; the gradient by x2 is zero."""
    if kwargs:
        _check_ufunc_options("copysign", kwargs)
    if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
        return onp.copysign(x1, x2)
    a, b = (floats(v) for v in promoted("copysign", x1, x2))
    like = (a if isinstance(a, NDArray) else b).tensor
    s, t = (v.tensor.detach() if isinstance(v, NDArray) else torch.tensor(v, dtype=like.dtype) for v in (a, b))
    ones = torch.ones((), dtype=like.dtype, device=like.device)
    signs = constant(torch.copysign(ones, s) * torch.copysign(ones, t))
    return finish(_as_given(pair("mul", a, signs) if isinstance(a, NDArray) else signs * abs(a), x1, x2), out)


def _as_given(y: Any, x1: Any, x2: Any) -> Any:
    """The result in the type of the arrays: integers where these are."""
    dtype = promoted("", x1, x2)[0 if isinstance(x1, NDArray) else 1].tensor.dtype
    return y if dtype.is_floating_point or dtype == torch.bool else op.cast(y, dtype=dtype)


def ldexp(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
    """`numpy.ldexp`: x1 * 2 ** x2, differentiable by both."""
    if kwargs:
        _check_ufunc_options("ldexp", kwargs)
    if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
        return onp.ldexp(x1, x2)
    a, b = (floats(v) for v in promoted("ldexp", x1, x2))
    y = pair("mul", a, pair("power", 2.0, b) if isinstance(b, NDArray) else 2.0**b)
    return finish(_as_given(y, x1, x2), out)


def floor_divide(x1: Any, x2: Any, out: Any = None) -> Any:
    """`numpy.floor_divide`."""
    a, b = promoted("floor_divide", x1, x2)
    first = (a if isinstance(a, NDArray) else b).tensor.dtype
    y = op.floor(pair("div", a, b))
    return finish(y if first.is_floating_point else op.cast(y, dtype=first), out)


_public(arctan2)
_public(copysign)
_public(ldexp)
_public(floor_divide)


def _comparison(name: str, kind: str) -> Callable[..., Any]:
    def call(x1: Any, x2: Any, out: Any = None) -> Any:
        if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
            return getattr(onp, name)(x1, x2)
        return finish(compare(kind, x1, x2), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}`: booleans."
    return call


for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    _public(_comparison(_name, _name))


def _logical(name: str) -> Callable[..., Any]:
    def call(x1: Any, x2: Any, out: Any = None) -> Any:
        a, b = (v.tensor if isinstance(v, NDArray) else torch.tensor(v) for v in (x1, x2))
        return finish(unmoved(constant(getattr(torch, name)(a, b)), x1, x2), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}`: booleans."
    return call


def _bits(name: str) -> Callable[..., Any]:
    def call(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        return finish(bitwise(name, x1, x2), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}` of integers or booleans."
    return call


for _name in ("logical_and", "logical_or", "logical_xor"):
    _public(_logical(_name))
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _public(_bits(_name))


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """`numpy.clip`: limited from below, from above or both; the gradient passes within the limits."""
    if a_min is None and a_max is None:
        raise ValueError("clip: a_min or a_max must be given")
    if isinstance(a, NUMBERS):
        return onp.clip(a, a_min, a_max)
    low, high = (None if v is None else float(v) for v in (a_min, a_max))
    return finish(op.clip(ndarray._around(_array("clip", a)), min=low, max=high, product=False), out)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`numpy.where`: x where the condition holds, y elsewhere; with the condition alone, where it holds."""
    c = _array("where", condition, "condition")
    if x is None and y is None:
        return tuple(constant(p) for p in c.tensor.nonzero(as_tuple=True))
    if x is None or y is None:
        raise ValueError("where: either both or neither of x and y should be given")
    if not isinstance(x, NDArray) and not isinstance(y, NDArray):
        x = constant(torch.tensor(float(x), device=c.tensor.device))
    x, y = promoted("where", x, y)
    like = x if isinstance(x, NDArray) else y
    x, y = (v if isinstance(v, NDArray) else constant(torch.tensor(v, dtype=like.tensor.dtype, device=c.tensor.device))
            for v in (x, y))  # fmt: skip
    shape = torch.broadcast_shapes(c.shape, x.shape, y.shape)
    c, x, y = (v if v.shape == shape else op.broadcast_to(v, shape=tuple(shape)) for v in (c, x, y))
    mask = constant(c.tensor if c.tensor.dtype == torch.bool else c.tensor != 0)
    return op.where(mask, ndarray._around(x), y)


_public(clip)
_public(where)


__all__ = sorted(set(__all__))
