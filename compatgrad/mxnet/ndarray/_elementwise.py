"""Operators on each element: functions of one array, arithmetic and comparisons of two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core.configuration import using_modes

from .._docs import composed
from .._frontend import fe
from ..base import MXNetError
from . import _operator, _stored
from ._elementwise_table import EXAMPLES, PAIRS, PLAIN
from ._indexing import in_range
from ._operator import ERRORS, op, operator, operators, register
from .ndarray import NDArray

__all__: list[str] = []


def _add(
    function: Callable[..., Any], aliases: tuple[str, ...] = (), method: bool = False, inputs: str | None = None
) -> None:
    register(function, aliases, method, inputs)
    for name in (function.__name__, *aliases):
        if not name.startswith("_"):
            globals()[name] = function
            __all__.append(name)


_none: Any = None  # the default of inputs: the error for a missing one is MXNet's, not Python's


# ---- one array -------------------------------------------------------------------------------------------------
def _unary(name: str, body: Callable[[NDArray], NDArray], doc: str) -> Callable[..., Any]:
    """The general form of an operator, which the fast path of the engine falls back to. As in the original, dtypes that
    are not floating are computed in float32 (absolute values in float64) and truncated, and unknown arguments are
    ignored.
    """

    def call(data: NDArray = _none, out: NDArray | None = None, name: str | None = None, **ignored: Any) -> NDArray:
        if not isinstance(data, NDArray):
            data = _operator.array_of(public, "data", data)
        t = data.tensor
        if t.is_floating_point():
            y = body(data)
        elif public in _ROUNDING:
            y = op.copy(data)
        else:
            y = op.cast(body(op.cast(data, dtype="float64" if public == "abs" else "float32")), dtype=t.dtype)
        return y if out is None else _operator.write(out, y)

    public = name
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


def _of_one(name: str, doc: str) -> str:
    """The docstring of a function of one array, with its example from the table `EXAMPLES`."""
    given, result = EXAMPLES[name]
    example = f">>> nd.{name}(nd.array({given})).asnumpy().round(4)\n        array({result}, dtype=float32)"
    return composed(
        f"{doc}\n\n    Example:\n        {example}\n", ("data", "out", "name", "**ignored"), f"mxnet.nd.{name}",
        "NDArray of the shape and dtype of `data`; what is not floating-point is computed in float32 and cut back.",
        ERRORS.partition("\n")[0], {"data": "NDArray"},
    )  # fmt: skip


_ROUNDING = frozenset(("ceil", "fix", "floor", "rint", "round", "trunc"))  # return integers unchanged
_METHODS = frozenset(
    "abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees exp expm1 fix floor log log10 log1p "
    "log2 radians rcbrt reciprocal relu rint round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc".split()
)
for _name, (_engine, *_) in PLAIN.items():
    _doc = _of_one(_name, _C.op_info(_engine)["doc"])
    _fallback = _unary(_name, getattr(op, _engine), _doc)
    _add(fe.bind(_engine, _fallback, "float", _name, _doc, __name__), method=_name in _METHODS)


def _rint(x: NDArray) -> NDArray:
    return _stored.same(op.ceil(x - 0.5), x)  # the original rounds halves down


_COMPOSED: dict[str, tuple[Callable[[NDArray], NDArray], str]] = {
    "relu": (lambda x: op.relu(x, rule="slope"), "max(x, 0); NaN has the gradient NaN."),
    "rcbrt": (lambda x: op.reciprocal(op.cbrt(x)), "One over the cube root."),
    "degrees": (lambda x: x * (180 / math.pi), "Radians as degrees."),
    "radians": (lambda x: x * (math.pi / 180), "Degrees as radians."),
    "rint": (_rint, "The nearest integer; of two the lower one."),
    "round": (
        lambda x: _stored.same(op.sign(x) * op.floor(op.abs(x) + 0.5), x),
        "The nearest integer; of two the one away from zero.",
    ),
}


for _name, (_body, _doc) in _COMPOSED.items():
    _add(_unary(_name, _body, _of_one(_name, _doc)), method=_name in _METHODS)


@operator("data", aliases=("_np_logical_not",))
def logical_not(data):
    """1 where an element is zero, else 0.

    Example:
        >>> nd.logical_not(nd.array([0.0, 2.0, -1.0])).asnumpy()
        array([1., 0., 0.], dtype=float32)
    """
    return op.equal_scalar(data, value=0)


@operator("data")
def hard_sigmoid(data, alpha=0.2, beta=0.5):
    """alpha * x + beta, between 0 and 1.

    Args:
        alpha: the slope.
        beta: the value at 0.

    Example:
        >>> nd.hard_sigmoid(nd.array([-5.0, 0.0, 1.0])).asnumpy()
        array([0. , 0.5, 0.7], dtype=float32)
    """
    return op.clip(data * alpha + beta, min=0.0, max=1.0, product=False)


__all__ += ["hard_sigmoid", "logical_not"]


# ---- two arrays ------------------------------------------------------------------------------------------------
def _shape_of_broadcast(name: str, a: NDArray, b: NDArray) -> None:
    for m, n in zip(reversed(a.shape), reversed(b.shape), strict=False):
        if m != n and m != 1 and n != 1:
            raise MXNetError(
                f"{name}: operands lhs and rhs could not be broadcast together with shapes {a.shape} and {b.shape}"
            )


def _checked_pair(name: str, a: Any, b: Any, strict: bool) -> tuple[NDArray, NDArray]:
    if not isinstance(a, NDArray):
        a = _operator.array_of(name, "lhs", a)
    if not isinstance(b, NDArray):
        b = _operator.array_of(name, "rhs", b)
    if a.tensor.dtype != b.tensor.dtype:
        raise MXNetError(
            f"{name}: rhs: incompatible types of the inputs: expected {np.dtype(a.dtype).name}, "
            f"got {np.dtype(b.dtype).name}"
        )
    if strict and a.shape != b.shape:
        raise MXNetError(f"{name}: rhs: incompatible shapes of the inputs: expected {a.shape}, got {b.shape}")
    _shape_of_broadcast(name, a, b)
    if a.tensor.device != b.tensor.device:
        raise MXNetError(f"{name}: the inputs are on different devices, {a.context} and {b.context}")
    return a, b


# Functions of integers whose results are integers.
_WHOLE = frozenset(
    "add sub mul maximum minimum equal not_equal greater greater_equal lesser lesser_equal logical_and logical_or "
    "logical_xor".split()
)
INTEGERS = (torch.int32, torch.int64, torch.int8, torch.uint8)


def _set_quotients(y: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    """Writes quotients of integers into y where b is not 0: in float64 y lacks their last digits."""
    apart = (b == 0) | (b == -1)  # processors may trap at these divisors
    q = torch.div(a, torch.where(apart, 1, b), rounding_mode="trunc")
    y.copy_(torch.where(b == 0, y, torch.where(b == -1, -a, q)))


def _exact(name: str, body: Callable[..., NDArray], a: Any, b: Any) -> NDArray:
    """Calls `body`. Integers are computed as such, with the overflow of C, where the results are integers.

    Otherwise they are computed in float64 and truncated; powers and hypotenuses are rounded to float32 before, as the
    original computes them. Remainders of integers have the gradient 0, as in the original.
    """
    x = a if isinstance(a, NDArray) else b
    t = x.tensor
    if t.is_floating_point():
        return body(a, b)
    if t.dtype not in INTEGERS:
        return op.cast(
            body(*(op.cast(v, dtype="float64") if isinstance(v, NDArray) else v for v in (a, b))), dtype=t.dtype
        )
    if name == "neg":
        return op.neg(x)
    if name in _WHOLE:
        a, b = (
            v if isinstance(v, NDArray) else NDArray(torch.tensor(v, dtype=t.dtype, device=t.device)) for v in (a, b)
        )
        return _BINARY[name][0](a, b)
    cast, single = op.cast_floats if name == "mod" else op.cast, name in ("power", "hypot")
    wide = []
    for v in (a, b):
        if isinstance(v, NDArray):
            wide.append(cast(cast(v, dtype="float32") if single else v, dtype="float64"))
        else:
            wide.append(float(np.float32(v)) if single else float(v))
    y = body(*wide)
    y = op.cast(op.cast(y, dtype="float32") if single else y, dtype=t.dtype)
    if name == "div" and t.dtype is torch.int64:
        a, b = (v.tensor if isinstance(v, NDArray) else torch.tensor(v) for v in (a, b))
        _set_quotients(y.tensor, a, b)
    return y


def _remainder(a: Any, b: Any) -> NDArray:
    """a - b floor(a / b), of the sign of b; 0 where b is 0, as in the original."""
    x = a if isinstance(a, NDArray) else b
    a, b = (v if isinstance(v, NDArray) else NDArray(torch.full_like(x.tensor, v)) for v in (a, b))
    zero = op.equal_scalar(b, value=0)
    b = b + zero
    r = op.fmod(a, b)
    opposed = op.less_scalar(op.mul(op.sign(r), op.sign(b)), value=0)
    return op.where(opposed, r + b, r) * (1 - zero)


def _as_float(body: Callable[..., NDArray]) -> Callable[..., NDArray]:
    return lambda a, b: op.cast(body(a, b), dtype=(a if isinstance(a, NDArray) else b).tensor.dtype)


def _hypot(a: NDArray, b: NDArray) -> NDArray:
    y = op.sqrt(op.square(a) + op.square(b))
    if y.tensor.isnan().any():  # as in C, the hypotenuse of infinity and NaN is infinity
        far = (a.tensor.isinf() | b.tensor.isinf()).expand(y.shape)
        y = op.where(NDArray(far), NDArray(torch.full_like(y.tensor, math.inf)), y)
    return y


_BINARY: dict[str, tuple[Callable[[NDArray, NDArray], NDArray], str]] = {
    "add": (op.add, "lhs + rhs"), "sub": (op.sub, "lhs - rhs"), "mul": (op.mul, "lhs * rhs"),
    "div": (op.div, "lhs / rhs"), "mod": (_remainder, "The remainder of lhs / rhs, of the sign of rhs."),
    "power": (op.pow, "lhs ** rhs"), "maximum": (op.maximum_product, "The larger of both."),
    "minimum": (op.minimum, "The smaller of both."), "hypot": (_hypot, "sqrt(lhs ** 2 + rhs ** 2)"),
    "equal": (_as_float(op.equal), "1 where lhs == rhs, else 0."),
    "not_equal": (_as_float(op.not_equal), "1 where lhs != rhs, else 0."),
    "greater": (_as_float(op.greater), "1 where lhs > rhs, else 0."),
    "greater_equal": (_as_float(op.greater_equal), "1 where lhs >= rhs, else 0."),
    "lesser": (_as_float(op.less), "1 where lhs < rhs, else 0."),
    "lesser_equal": (_as_float(op.less_equal), "1 where lhs <= rhs, else 0."),
    "logical_and": (_as_float(op.logical_and), "1 where both are not zero, else 0."),
    "logical_or": (_as_float(op.logical_or), "1 where one is not zero, else 0."),
    "logical_xor": (_as_float(op.logical_xor), "1 where just one is not zero, else 0."),
}  # fmt: skip
_NATIVE = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "power": "pow", "maximum": "maximum_product",
           "minimum": "minimum"}  # fmt: skip
_ALIASES = {
    "broadcast_add": ("broadcast_plus",), "broadcast_sub": ("broadcast_minus",), "elemwise_add": ("_plus", "_add"),
    "elemwise_sub": ("_minus", "_sub"), "elemwise_mul": ("_mul",), "elemwise_div": ("_div",),
}  # fmt: skip


def _of_two(public: str, doc: str, name: str, strict: bool) -> str:
    """The docstring of a function of two arrays: `elemwise_add`, `broadcast_add`."""
    example = f">>> nd.{public}(nd.array([5.0, 2.0]), nd.array([2.0, 2.0])).asnumpy()"
    rule = "Both have one shape and one dtype." if strict else "Both have one dtype, and shapes that broadcast."
    text = f"{doc.rstrip('.')}. {rule}\n"
    text += f"\n    Example:\n        {example}\n        array({PAIRS[name]}, dtype=float32)\n"
    return composed(
        text,
        ("lhs", "rhs", "out", "name", "**ignored"), f"mxnet.nd.{public}",
        f"NDArray of the dtype of the inputs and {'their shape' if strict else 'the shape that they broadcast to'}.",
        ERRORS.replace("an argument is not known", "the arrays are on different devices"),
        {"lhs": "NDArray", "rhs": "NDArray"},
    )  # fmt: skip


def _binary(public: str, plain: str, body: Callable[..., NDArray], doc: str, strict: bool) -> Callable[..., Any]:
    def checked(lhs: NDArray, rhs: NDArray) -> NDArray:
        return _exact(plain, body, *_checked_pair(public, lhs, rhs, strict))

    quick = fe.bind(_NATIVE[plain], checked, "float", public) if strict else None

    def call(
        lhs: NDArray = _none, rhs: NDArray = _none, out: NDArray | None = None, name: str | None = None, **ignored: Any
    ) -> NDArray:
        if quick and lhs.__class__ is NDArray and rhs.__class__ is NDArray and out is None and lhs.shape == rhs.shape:
            return quick(lhs, rhs)
        lhs, rhs = _checked_pair(public, lhs, rhs, strict)
        y = _exact(plain, body, lhs, rhs)
        if strict and (lhs.stype != "default" or rhs.stype != "default") and out is None:
            y = _stored.elementwise(plain, y, lhs, rhs)
        return y if out is None else _operator.write(out, y)

    call.__name__ = call.__qualname__ = public
    call.__doc__ = doc
    return call


for _name, (_body, _doc) in _BINARY.items():
    for _public, _strict in ((f"broadcast_{_name}", False), (f"elemwise_{_name}", True)):
        if _strict and _name not in ("add", "sub", "mul", "div"):
            continue
        _text = _of_two(_public, _doc, _name, _strict)
        _call: Callable[..., Any] = _binary(_public, _name, _body, _text, _strict)
        if _name in _NATIVE and not _strict:
            _call = fe.bind(_NATIVE[_name], _call, "float", _public, _text, __name__)
        _add(_call, _ALIASES.get(_public, ()), inputs="lhs, rhs")


# ---- an array and a number, and Python's operators ---------------------------------------------------------------
def _at_least(x: NDArray, v: float) -> NDArray:
    """NaN stays NaN, and an element that is equal to `v` gets the gradient."""
    return op.clip(x, min=v) if x.tensor.is_floating_point() else op.maximum_scalar(x, value=v, product=True)


def _at_most(x: NDArray, v: float) -> NDArray:
    return op.clip(x, max=v) if x.tensor.is_floating_point() else op.minimum_scalar(x, value=v, product=True)


_SCALAR: dict[str, tuple[Callable[[NDArray, float], NDArray], Callable[[NDArray, float], NDArray]]] = {
    # (array with a number, number with an array)
    "add": (lambda x, v: op.add_scalar(x, value=v), lambda x, v: op.add_scalar(x, value=v)),
    "sub": (lambda x, v: op.add_scalar(x, value=-v), lambda x, v: op.rsub_scalar(x, value=v)),
    "mul": (lambda x, v: op.mul_scalar(x, value=v), lambda x, v: op.mul_scalar(x, value=v)),
    "div": (lambda x, v: op.div_scalar(x, value=v), lambda x, v: op.rdiv_scalar(x, value=v)),
    "mod": (_remainder, lambda x, v: _remainder(v, x)),
    "power": (lambda x, v: op.pow_scalar(x, exponent=v), lambda x, v: op.rpow_scalar(x, base=v)),
    "maximum": (_at_least,) * 2,
    "minimum": (_at_most,) * 2,
    "hypot": (lambda x, v: op.sqrt(op.square(x) + v * v), lambda x, v: op.sqrt(op.square(x) + v * v)),
    "equal": (lambda x, v: op.equal_scalar(x, value=v), lambda x, v: op.equal_scalar(x, value=v)),
    "not_equal": (lambda x, v: op.not_equal_scalar(x, value=v), lambda x, v: op.not_equal_scalar(x, value=v)),
    "greater": (lambda x, v: op.greater_scalar(x, value=v), lambda x, v: op.less_scalar(x, value=v)),
    "greater_equal": (
        lambda x, v: op.greater_equal_scalar(x, value=v),
        lambda x, v: op.less_equal_scalar(x, value=v),
    ),
    "lesser": (lambda x, v: op.less_scalar(x, value=v), lambda x, v: op.greater_scalar(x, value=v)),
    "lesser_equal": (
        lambda x, v: op.less_equal_scalar(x, value=v),
        lambda x, v: op.greater_equal_scalar(x, value=v),
    ),
    "logical_and": (lambda x, v: op.logical_and_scalar(x, value=v), lambda x, v: op.logical_and_scalar(x, value=v)),
    "logical_or": (lambda x, v: op.logical_or_scalar(x, value=v), lambda x, v: op.logical_or_scalar(x, value=v)),
    "logical_xor": (lambda x, v: op.logical_xor_scalar(x, value=v), lambda x, v: op.logical_xor_scalar(x, value=v)),
}
_NUMBERS = (bool, int, float, np.generic)
_LARGEST_HALF = torch.finfo(torch.float16).max


def _number(v: Any, x: NDArray) -> Any:
    """A number for an operation with x, converted to the dtype of x as in the original."""
    v, dtype = float(v), x.tensor.dtype
    if x.tensor.is_floating_point() and -_LARGEST_HALF < v < _LARGEST_HALF:
        return v
    if x.tensor.is_floating_point() or dtype in INTEGERS:
        return in_range(v, dtype)
    return v if not math.isfinite(v) else float(int(v))


def _pair(name: str, lhs: Any, rhs: Any) -> NDArray:
    """Runs one of Python's operators, or a function such as `nd.maximum`, on two arrays, or an array and a number."""
    if isinstance(lhs, NDArray):
        if isinstance(rhs, NDArray):
            return operators[f"broadcast_{name}"](lhs, rhs)
        if isinstance(rhs, _NUMBERS):
            return _exact(name, _SCALAR[name][0], lhs, _number(rhs, lhs))
        raise TypeError(f"{name}: type {type(rhs)} not supported: expected an NDArray or a number")
    if isinstance(rhs, NDArray):
        if isinstance(lhs, _NUMBERS):
            return _exact(name, lambda v, x: _SCALAR[name][1](x, v), _number(lhs, rhs), rhs)
        raise TypeError(f"{name}: type {type(lhs)} not supported: expected an NDArray or a number")
    raise TypeError(f"{name}: types {type(lhs)} and {type(rhs)} not supported: expected an NDArray")


_PYTHON = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "power"}
for _slot, _name in _PYTHON.items():
    fe.fallbacks[_slot] = lambda a, b, name=_name: _pair(name, a, b)
    fe.fallbacks["r" + _slot] = lambda a, b, name=_name: _pair(name, b, a)
fe.fallbacks["neg"] = lambda x: _exact("neg", lambda v, _: op.neg(v), x, 0)
fe.fallbacks["abs"] = lambda x: operators["abs"](x)
fe.fallbacks["getitem"] = NDArray.__getitem__


def _method(name: str, reverse: bool = False) -> Callable[[NDArray, Any], NDArray]:
    def method(self, other):
        return _pair(name, other, self) if reverse else _pair(name, self, other)

    return method


def _in_place(name: str) -> Callable[[NDArray, Any], NDArray]:
    def method(self, other):
        self._check_writable(other)
        with using_modes(recording=False):
            return self._write(_pair(name, self, other), name)

    return method


for _slot, _name in (("eq", "equal"), ("ne", "not_equal"), ("gt", "greater"), ("ge", "greater_equal"),
                     ("lt", "lesser"), ("le", "lesser_equal"), ("mod", "mod")):  # fmt: skip
    setattr(NDArray, f"__{_slot}__", _method(_name))
NDArray.__rmod__ = _method("mod", True)  # type: ignore[attr-defined]
for _slot, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("mod", "mod"),
                     ("pow", "power")):  # fmt: skip
    setattr(NDArray, f"__i{_slot}__", _in_place(_name))


def _function(public: str, name: str, doc: str) -> Callable[..., Any]:
    def call(lhs: NDArray | float, rhs: NDArray | float) -> NDArray:
        if not isinstance(lhs, NDArray) and not isinstance(rhs, NDArray) and name in _PLAIN_NUMBERS:
            return _PLAIN_NUMBERS[name](lhs, rhs)
        return _pair(name, lhs, rhs)

    call.__name__ = call.__qualname__ = public
    call.__doc__ = _of_numbers(public, doc, name)
    return call


def _of_numbers(public: str, doc: str, name: str, args: tuple[str, str] = ("lhs", "rhs")) -> str:
    """The docstring of a function of arrays or numbers: `add`, `maximum`."""
    both = "NDArray or number"
    text = f"""{doc.rstrip(".")}. Of two arrays, which broadcast, or of an array and a number.

    Args:
        {args[0]} ({both}): any shape, any dtype.
        {args[1]} ({both}): an array of the same dtype and a shape that broadcasts, or a number.

    Example:
        >>> nd.{public}(nd.array([5.0, 2.0]), 2).asnumpy()
        array({PAIRS[name]}, dtype=float32)
"""
    return composed(
        text, args, f"mxnet.nd.{public}",
        "NDArray of the dtype of the arrays and the shape that they broadcast to; of two numbers a number, where "
        "Python has the operator.",
        "TypeError: an argument is neither an NDArray nor a number, or both are numbers and Python has no operator.\n"
        "        mxnet.base.MXNetError: dtypes or devices differ, or shapes do not broadcast.", {},
    )  # fmt: skip


_PLAIN_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": max, "minimum": min, "power": pow, "add": lambda a, b: a + b, "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "mod": lambda a, b: a % b,
}  # fmt: skip
for _public, _name in (("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("divide", "div"),
                       ("true_divide", "div"), ("modulo", "mod"), ("maximum", "maximum"),
                       ("minimum", "minimum"), ("hypot", "hypot"), ("equal", "equal"), ("not_equal", "not_equal"),
                       ("greater", "greater"), ("greater_equal", "greater_equal"), ("lesser", "lesser"),
                       ("lesser_equal", "lesser_equal"), ("logical_and", "logical_and"),
                       ("logical_or", "logical_or"), ("logical_xor", "logical_xor")):  # fmt: skip
    _add(_function(_public, _name, _BINARY[_name][1]))

_raised = _function("power", "power", "")


def power(base: NDArray | float, exp: NDArray | float) -> NDArray:
    return _raised(base, exp)


power.__doc__ = _of_numbers("power", "base ** exp", "power", ("base", "exp"))


_add(power)
