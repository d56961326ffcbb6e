"""The elementwise functions of `mx.np`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from compatgrad import _C

from .._docs import sharing
from ..base import MXNetError
from ..ndarray._operator import not_an_array, op, refuse, write
from ..ndarray.arrays import _limited
from ..ndarray.ndarray import NDArray, is_recording
from ..util import _check_ufunc_options
from ._arguments import _publisher
from ._array import NUMBERS, bitwise, compare, constant, finish, floats, ndarray, pair, promoted, unmoved
from ._docs import documented
from ._elementwise_words import of_bits, of_comparison, of_logic, of_one, of_test, of_two

__all__: list[str] = []
_public = _publisher(globals())


def _array(who: str, x: Any, name: str = "a") -> NDArray:
    if not isinstance(x, NDArray):
        raise not_an_array(who, name, x)
    return x


def _not_supported(who: str, x: Any) -> TypeError:
    return TypeError(f"{who}: type {type(x)} not supported: expected an mx.np.ndarray or a number")


def _fit(who: str, *xs: Any) -> tuple[int, ...]:
    """The shape that arrays broadcast to; numbers fit any."""
    shapes = [tuple(x.shape) for x in xs if hasattr(x, "shape")]
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        text = " ".join(map(str, shapes))
        raise MXNetError(f"{who}: operands could not be broadcast together with shapes {text}") from None


# ---- one array


_RESULT = "ndarray of the dtype of `x`; integers are computed in float32 and cut back, booleans become float32."
_RESULT_OF_EXACT = "ndarray of the dtype of `x`; booleans become float32."


def _unary(name: str, body: Callable[[Any], Any], exact: bool = False) -> Callable[..., Any]:
    """`exact`: integers are computed as integers; else in float32, and the result is truncated."""

    def call(x: ndarray | float, out: ndarray | None = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        if isinstance(x, NUMBERS):
            return getattr(onp, name)(x)
        if not isinstance(x, NDArray):
            raise _not_supported(name, x)
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
    call.__doc__ = of_one(name, _RESULT_OF_EXACT if exact else _RESULT)
    return documented(call)


_BODIES: dict[str, Callable[[Any], Any]] = {
    "abs": op.abs, "arccos": op.arccos, "arccosh": op.arccosh, "arcsin": op.arcsin, "arcsinh": op.arcsinh,
    "arctan": op.arctan, "arctanh": op.arctanh, "cbrt": op.cbrt, "ceil": op.ceil, "cos": op.cos, "cosh": op.cosh,
    "exp": op.exp, "expm1": op.expm1, "fix": op.fix, "floor": op.floor, "log": op.log, "log10": op.log10,
    "log1p": op.log1p,
    "log2": op.log2, "negative": op.neg, "positive": op.copy, "reciprocal": op.reciprocal,
    "rint": lambda x: op.ceil(x - 0.5),  # the original rounds halves down
    "sign": op.sign, "sin": op.sin, "sinh": op.sinh, "sqrt": op.sqrt, "square": op.square, "tan": op.tan,
    "tanh": op.tanh, "trunc": op.fix,
    "degrees": lambda x: x * (180 / math.pi), "radians": lambda x: x * (math.pi / 180),
}  # fmt: skip
_EXACT = frozenset(("abs", "negative", "positive", "sign"))
_ALIASES = {"abs": ("absolute", "fabs"), "degrees": ("rad2deg",), "radians": ("deg2rad",)}
for _name, _body in _BODIES.items():
    _public(_unary(_name, _body, _name in _EXACT), *_ALIASES.get(_name, ()))


def _test(name: str, body: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    def call(x: ndarray | float, out: ndarray | None = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        if isinstance(x, NUMBERS):
            return getattr(onp, name)(x)
        if not isinstance(x, NDArray):
            raise _not_supported(name, x)
        if out is not None and out.tensor.dtype != torch.bool:
            raise TypeError(f"{name}: out must hold booleans, not {out.dtype}")
        return finish(unmoved(constant(body(x.tensor)), x), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = of_test(name)
    return documented(call)


for _name, _body in (
    ("isnan", torch.isnan), ("isinf", torch.isinf), ("isfinite", torch.isfinite), ("isposinf", torch.isposinf),
    ("isneginf", torch.isneginf), ("logical_not", torch.logical_not), ("signbit", torch.signbit),
):  # fmt: skip
    _public(_test(_name, _body))


@documented
def round(x: ndarray | float, decimals: int = 0, out: ndarray | None = None, **kwargs: Any) -> Any:
    """Rounds to a number of decimals; of halves to the even neighbour.

    Args:
        x: ndarray of any shape and dtype, or a number.
        decimals: how many digits stay behind the point; a negative number rounds to tens, hundreds, ….
        **kwargs: `name`, without effect.

    Returns:
        ndarray of the dtype of `x`; of a number NumPy's result.

    Raises:
        TypeError: `x` is neither an array nor a number.
        mxnet.base.MXNetError: `out` has another shape than `x`.

    Example:
        >>> mx.np.round(mx.np.array([0.25, 1.5, 2.5]))
        array([0., 2., 2.])
        >>> mx.np.round(mx.np.array([3.14159]), 2)
        array([3.14])
    """
    refuse("round", kwargs, ("decimals", "name"))
    if isinstance(x, NUMBERS):
        return onp.round(x, decimals)
    if not isinstance(x, NDArray):
        raise _not_supported("round", x)
    scale = 10.0**decimals
    y = x if not x.tensor.is_floating_point() and decimals >= 0 else op.rint(floats(x) * scale) / scale
    return finish(y, out)


_public(round, "around", "round_")


@documented
def invert(x: ndarray | int, out: ndarray | None = None, **kwargs: Any) -> ndarray:
    """Inverts the bits of integers, and booleans.

    Args:
        x: ndarray of integers or booleans, or such a number.

    Returns:
        ndarray of the dtype of `x`, without a gradient; of a number NumPy's result.

    Raises:
        AssertionError: `x` is neither an array nor a number.
        TypeError: a number is floating-point, or a keyword is unknown.
        NotImplementedError: an option of NumPy's ufuncs has another value than its default.
        mxnet.base.MXNetError: `x` is floating-point, or `out` has another shape.

    Example:
        >>> mx.np.invert(mx.np.array([0, 5], dtype="int32"))
        array([-1, -6], dtype=int32)
    """
    if kwargs:
        _check_ufunc_options("invert", kwargs)
    if isinstance(x, NUMBERS):
        return onp.invert(x)
    return finish(~ndarray._around(_array("invert", x, "x")), out)


_public(invert, "bitwise_not")


@documented
def nan_to_num(
    x: ndarray, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None,
    **kwargs: Any,
) -> ndarray:  # fmt: skip
    """Replaces NaN and infinities by numbers; the replaced elements get no gradient.

    Args:
        copy: whether the result is a new array; else `x` is written to, unless it is part of a recorded graph.
        nan: the number for NaN.
        posinf: the number for infinity; None is the largest one of the dtype.
        neginf: the number for minus infinity; None is the smallest one of the dtype.
        **kwargs: without effect.

    Raises:
        AssertionError: `x` is no array.

    Example:
        >>> mx.np.nan_to_num(mx.np.array([np.nan, np.inf, 1.0]), posinf=9.0)
        array([0., 9., 1.])
    """
    t = _array("nan_to_num", x, "x").tensor
    if not t.is_floating_point():
        return op.copy(x) if copy else x
    finite = constant(torch.isfinite(t))
    y = op.where(finite, x, constant(torch.nan_to_num(t.detach(), nan, posinf, neginf)))
    return y if copy or (is_recording() and _C.in_graph(x)) else write(x, y)  # arrays of a graph must not change


_public(nan_to_num)


# ---- two arrays, or an array and a number


def _binary(name: str, kind: str) -> Callable[..., Any]:
    def call(x1: ndarray | float, x2: ndarray | float, out: ndarray | None = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
            return getattr(onp, name)(x1, x2)
        return finish(pair(kind, x1, x2), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = of_two(name)
    return documented(call)


for _name, _kind, *_more in (
    ("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("true_divide", "div", "divide"),
    ("mod", "mod", "remainder"), ("power", "power"), ("maximum", "maximum", "fmax"), ("minimum", "minimum", "fmin"),
    ("hypot", "hypot"),
):  # fmt: skip
    _public(_binary(_name, _kind), *_more)


_OF_TWO = """
    Returns:
        ndarray of the wider dtype of both arrays; of two numbers NumPy's result.

    Raises:
        TypeError: an argument is neither an array nor a number, or a keyword is unknown.
        NotImplementedError: an option of NumPy's ufuncs has another value than its default.
        mxnet.base.MXNetError: shapes do not broadcast, or `out` has another one than the result.
    """


@documented
@sharing(_OF_TWO)
def arctan2(x1: ndarray | float, x2: ndarray | float, out: ndarray | None = None, **kwargs: Any) -> Any:
    """The angle, in radians from -pi to pi, between the first axis and the line from the origin to the point (x2, x1).

    Returns:
        ndarray, floating-point: integers become float32. Of two numbers NumPy's result.

    Example:
        >>> mx.np.arctan2(mx.np.array([0.0, 1.0]), mx.np.array([1.0, 1.0]))
        array([0.       , 0.7853982])
    """
    if kwargs:
        _check_ufunc_options("arctan2", kwargs)
    if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
        return onp.arctan2(x1, x2)
    a, b = promoted("arctan2", x1, x2)
    _fit("arctan2", a, b)
    like = a if isinstance(a, NDArray) else b
    a, b = (floats(v if isinstance(v, NDArray) else like * 0 + v) for v in (a, b))
    return finish(op.arctan2(a, b), out)


@documented
@sharing(_OF_TWO)
def copysign(x1: ndarray | float, x2: ndarray | float, out: ndarray | None = None, **kwargs: Any) -> Any:
    """The absolute values of `x1` with the signs of `x2`. The gradient by `x2` is 0.

    Example:
        >>> mx.np.copysign(mx.np.array([1.0, -2.0]), -1)
        array([-1., -2.])
    """
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
    """The result in the dtype of the arrays; integers for integer arrays."""
    dtype = promoted("", x1, x2)[0 if isinstance(x1, NDArray) else 1].tensor.dtype
    return y if dtype.is_floating_point or dtype == torch.bool else op.cast(y, dtype=dtype)


@documented
@sharing(_OF_TWO)
def ldexp(x1: ndarray | float, x2: ndarray | float, out: ndarray | None = None, **kwargs: Any) -> Any:
    """x1 * 2 ** x2, with gradients by both.

    Example:
        >>> mx.np.ldexp(mx.np.array([1.0, 3.0]), 2)
        array([ 4., 12.])
    """
    if kwargs:
        _check_ufunc_options("ldexp", kwargs)
    if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
        return onp.ldexp(x1, x2)
    a, b = (floats(v) for v in promoted("ldexp", x1, x2))
    y = pair("mul", a, pair("power", 2.0, b) if isinstance(b, NDArray) else 2.0**b)
    return finish(_as_given(y, x1, x2), out)


@documented
def floor_divide(x1: ndarray | float, x2: ndarray | float, out: ndarray | None = None) -> Any:
    """The largest integer that is not larger than x1 / x2.

    Returns:
        ndarray of the wider dtype of both arrays.

    Raises:
        TypeError: an argument is neither an array nor a number, or both are numbers.
        mxnet.base.MXNetError: shapes do not broadcast, or `out` has another one than the result.

    Example:
        >>> mx.np.floor_divide(mx.np.array([5.0, -5.0]), 2)
        array([ 2., -3.])
    """
    a, b = promoted("floor_divide", x1, x2)
    first = (a if isinstance(a, NDArray) else b).tensor.dtype
    y = op.floor(pair("div", a, b))
    return finish(y if first.is_floating_point else op.cast(y, dtype=first), out)


_public(arctan2)
_public(copysign)
_public(ldexp)
_public(floor_divide)


def _comparison(name: str, kind: str) -> Callable[..., Any]:
    def call(x1: ndarray | float, x2: ndarray | float, out: ndarray | None = None) -> Any:
        if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
            return getattr(onp, name)(x1, x2)
        return finish(compare(kind, x1, x2), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = of_comparison(name)
    return documented(call)


for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    _public(_comparison(_name, _name))


def _tensor(who: str, x: Any) -> torch.Tensor:
    if isinstance(x, NDArray):
        return x.tensor
    try:
        return torch.tensor(x)
    except (TypeError, ValueError, RuntimeError):
        raise _not_supported(who, x) from None


def _logical(name: str) -> Callable[..., Any]:
    def call(x1: ndarray | float, x2: ndarray | float, out: ndarray | None = None) -> Any:
        a, b = (_tensor(name, x) for x in (x1, x2))
        _fit(name, a, b)
        return finish(unmoved(constant(getattr(torch, name)(a, b)), x1, x2), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = of_logic(name)
    return documented(call)


def _bits(name: str) -> Callable[..., Any]:
    def call(x1: ndarray | float, x2: ndarray | float, out: ndarray | None = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
            return getattr(onp, name)(x1, x2)
        _fit(name, x1, x2)
        return finish(bitwise(name, x1, x2), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = of_bits(name)
    return documented(call)


for _name in ("logical_and", "logical_or", "logical_xor"):
    _public(_logical(_name))
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _public(_bits(_name))


@documented
def clip(a: ndarray | float, a_min: float | None, a_max: float | None, out: ndarray | None = None) -> Any:
    """Limits elements from below, from above or both; the gradient passes within the limits.

    Args:
        a: ndarray of any shape and dtype, or a number.
        a_min: the lower limit; None for no limit.
        a_max: the upper limit; None for no limit.

    Returns:
        ndarray of the dtype of `a`; of a number NumPy's result.

    Raises:
        AssertionError: `a` is neither an array nor a number.
        ValueError: both limits are None.
        TypeError: a limit is no number.

    Example:
        >>> mx.np.clip(mx.np.array([-1.0, 0.5, 3.0]), 0, 1)
        array([0. , 0.5, 1. ])
    """
    if a_min is None and a_max is None:
        raise ValueError("clip: a_min or a_max must be given")
    if isinstance(a, NUMBERS):  # with arrays as limits, NumPy would call this function again, without end
        return onp.clip(a, *[float(v) if isinstance(v, NDArray) else v for v in (a_min, a_max)])
    low, high = (None if v is None else float(v) for v in (a_min, a_max))
    return finish(_limited(ndarray._around(_array("clip", a)), low, high), out)


@documented
def where(
    condition: ndarray, x: ndarray | float | None = None, y: ndarray | float | None = None
) -> ndarray | tuple[ndarray, ...]:
    """Elements of `x` where a condition holds, and of `y` elsewhere.

    Args:
        condition: ndarray; it holds where an element differs from 0.
        x: ndarray, or a number.
        y: ndarray, or a number; all three broadcast.

    Returns:
        ndarray of the wider dtype of `x` and `y`. Without both of them, the positions where the condition holds: a
        tuple of int64 arrays, one for each axis.

    Raises:
        AssertionError: `condition` is no array.
        TypeError: `x` or `y` is neither an array nor a number.
        ValueError: `x` or `y` alone is given.
        mxnet.base.MXNetError: shapes do not broadcast.

    Example:
        >>> x = mx.np.array([1, -2, 3])
        >>> mx.np.where(x > 0, x, 0)
        array([1., 0., 3.])
        >>> mx.np.where(x > 0)
        (array([0, 2], dtype=int64),)
    """
    c = _array("where", condition, "condition")
    if x is None and y is None:
        return tuple(constant(p) for p in c.tensor.nonzero(as_tuple=True))
    if x is None or y is None:
        raise ValueError("where: either both or neither of x and y should be given")
    for v in (x, y):
        if not isinstance(v, (NDArray, *NUMBERS)):
            raise _not_supported("where", v)
    if not isinstance(x, NDArray) and not isinstance(y, NDArray):
        x = constant(torch.tensor(float(x), device=c.tensor.device))
    x, y = promoted("where", x, y)
    like = x if isinstance(x, NDArray) else y
    x, y = (v if isinstance(v, NDArray) else constant(torch.tensor(v, dtype=like.tensor.dtype, device=c.tensor.device))
            for v in (x, y))  # fmt: skip
    shape = _fit("where", c, x, y)
    c, x, y = (v if v.shape == shape else op.broadcast_to(v, shape=shape) for v in (c, x, y))
    mask = constant(c.tensor if c.tensor.dtype == torch.bool else c.tensor != 0)
    return op.where(mask, ndarray._around(x), y)


_public(clip)
_public(where)


__all__ = sorted(set(__all__))
