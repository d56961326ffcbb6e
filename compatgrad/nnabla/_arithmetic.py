"""What the operators of Variable and NdArray mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad.nnabla._frontend import fe
from compatgrad.nnabla._nd_array import NdArray


def _F() -> Any:
    from compatgrad.nnabla import functions

    return functions


def _is_array(x: Any) -> bool:
    from compatgrad.nnabla.variable import Variable

    return isinstance(x, (NdArray, Variable))


#: How many bodies of functions run now. In them, operators broadcast as the engine does.
in_bodies = 0
_OPS = {"add2": "add", "sub2": "sub", "mul2": "mul", "div2": "div", "pow2": "pow"}


def _number(x: Any) -> Any:
    if isinstance(x, (str, bytes)):
        raise TypeError(f"an operand must be a real number, a Variable or an NdArray, not {type(x).__name__}")
    return x


def _binary(both: str, scalar: str, reverse: str, prepare: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """x o y for two arrays, an array and a number, or a number and an array (where y comes first in `reverse`)."""

    def apply(x: Any, y: Any, outputs: Any = None) -> Any:
        if _is_array(x):
            if _is_array(y):
                if in_bodies and not isinstance(x, NdArray) and not isinstance(y, NdArray):
                    from compatgrad.nnabla._frontend import op

                    return getattr(op, _OPS[both])(x, y)
                return getattr(_F(), both)(x, y, outputs=outputs)
            return getattr(_F(), scalar)(x, prepare(_number(y)) if prepare else _number(y), outputs=outputs)
        return getattr(_F(), reverse)(y, _number(x), outputs=outputs)

    return apply


def _matmul(x: Any, y: Any) -> Any:
    """NumPy's x @ y. AssertionError unless both are arrays with axes."""
    if in_bodies:
        from compatgrad.nnabla._frontend import op

        return op.matmul(x, y)
    for v in (x, y):
        assert _is_array(v), f"matmul: expected Variables or NdArrays, got {type(v).__name__}"
        assert v.ndim, "matmul: an operand has no axes"
    if isinstance(x, NdArray) or isinstance(y, NdArray):  # it runs at once: on what the other one holds
        x, y = (v if isinstance(v, NdArray) else v.data for v in (x, y))
    f = _F()
    if x.ndim == 1 and y.ndim == 1:
        return f.sum(x * y)
    row, column = x.ndim == 1, y.ndim == 1
    if row:
        x = f.reshape(x, (1, *x.shape))
    if column:
        y = f.reshape(y, (*y.shape, 1))
    n = max(x.ndim, y.ndim)
    if n == 2:
        z = f.affine(x, y)
    else:
        x, y = (v if v.ndim == n else f.reshape(v, (1,) * (n - v.ndim) + v.shape) for v in (x, y))
        z = f.batch_matmul(x, y)
    if row or column:
        z = f.reshape(z, z.shape[:-2] + z.shape[-1:] if row else z.shape[:-1])
    return z


operators: dict[str, Callable[..., Any]] = {
    "add": _binary("add2", "add_scalar", "add_scalar"),
    "sub": _binary("sub2", "add_scalar", "r_sub_scalar", lambda c: -c),
    "mul": _binary("mul2", "mul_scalar", "mul_scalar"),
    "div": _binary("div2", "mul_scalar", "r_div_scalar", lambda c: 1.0 / c),
    "pow": _binary("pow2", "pow_scalar", "r_pow_scalar"),
    "matmul": _matmul,
    "neg": lambda x: _F().mul_scalar(x, -1),
    "abs": lambda x: _F().abs(x),
}


def _forward(name: str) -> Callable[..., Any]:
    return lambda x, y: operators[name](x, y)


def _backward(name: str) -> Callable[..., Any]:
    return lambda y, x: operators[name](x, y)


def _inplace(name: str) -> Callable[..., Any]:
    """x o= y of NdArrays, as in the original: + and - write into x, * and / do where y is a number; else the name is
    bound to a new array."""

    def apply(x: Any, y: Any) -> Any:
        if name == "pow" or name in ("mul", "div") and _is_array(y):
            return operators[name](x, y)
        operators[name](x, y, outputs=[x])
        return x

    return apply


def install(cls: type) -> None:
    """Gives NdArray its operators; those of Variable come from the engine, which falls back on `operators`."""
    for method, name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow")):
        setattr(cls, f"__{method}__", _forward(name))
        setattr(cls, f"__r{method}__", _backward(name))
        setattr(cls, f"__i{method}__", _inplace(name))
    cls.__matmul__ = _forward("matmul")
    cls.__rmatmul__ = _backward("matmul")
    cls.__neg__ = lambda x: operators["neg"](x)
    cls.__pos__ = lambda x: x


install(NdArray)
for _name, _apply in operators.items():
    if _name in ("neg", "abs"):
        fe.fallbacks[_name] = _apply
    else:
        fe.fallbacks[_name] = _apply
        fe.fallbacks[f"r{_name}"] = (lambda f: lambda y, x: f(x, y))(_apply)
