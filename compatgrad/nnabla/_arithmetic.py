"""The operators of Variable and NdArray."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad.nnabla import _declare
from compatgrad.nnabla import functions as F
from compatgrad.nnabla._frontend import op
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.variable import Variable

_ARRAYS = (NdArray, Variable)


def _number(x: Any) -> Any:
    if isinstance(x, (str, bytes)):
        raise TypeError(f"an operand must be a real number, a Variable or an NdArray, not {type(x).__name__}")
    return x


def _binary(
    both: Callable[..., Any],
    in_body: Callable[..., Any],
    scalar: Callable[..., Any],
    reverse: Callable[..., Any],
    prepare: Callable[[Any], Any] | None = None,
) -> Callable[..., Any]:
    """Makes the function of an operator from the functions for two arrays (`both`), an array and a number (`scalar`),
    and a number and an array (`reverse`, whose first argument is the array). `in_body` is the function for two
    Variables in the body of a declared function.
    """

    def apply(x: Any, y: Any, outputs: Any = None) -> Any:
        if isinstance(x, _ARRAYS):
            if isinstance(y, _ARRAYS):
                if _declare.in_bodies and not isinstance(x, NdArray) and not isinstance(y, NdArray):
                    return in_body(x, y)
                return both(x, y, outputs=outputs)
            return scalar(x, prepare(_number(y)) if prepare else _number(y), outputs=outputs)
        return reverse(y, _number(x), outputs=outputs)

    return apply


def _matmul(x: Any, y: Any) -> Any:
    """x @ y by NumPy's rules. Raises AssertionError unless both operands are arrays with axes."""
    if _declare.in_bodies:
        return op.matmul(x, y)
    for v in (x, y):
        assert isinstance(v, _ARRAYS), f"matmul: expected Variables or NdArrays, got {type(v).__name__}"
        assert v.ndim, "matmul: an operand has no axes"
    if isinstance(x, NdArray) or isinstance(y, NdArray):  # it runs at once, on the arrays of both
        x, y = (v if isinstance(v, NdArray) else v.data for v in (x, y))
    if x.ndim == 1 and y.ndim == 1:
        return F.sum(x * y)
    row, column = x.ndim == 1, y.ndim == 1
    if row:
        x = F.reshape(x, (1, *x.shape))
    if column:
        y = F.reshape(y, (*y.shape, 1))
    n = max(x.ndim, y.ndim)
    if n == 2:
        z = F.affine(x, y)
    else:
        x, y = (v if v.ndim == n else F.reshape(v, (1,) * (n - v.ndim) + v.shape) for v in (x, y))
        z = F.batch_matmul(x, y)
    if row or column:
        z = F.reshape(z, z.shape[:-2] + z.shape[-1:] if row else z.shape[:-1])
    return z


operators: dict[str, Callable[..., Any]] = {
    "add": _binary(F.add2, op.add, F.add_scalar, F.add_scalar),
    "sub": _binary(F.sub2, op.sub, F.add_scalar, F.r_sub_scalar, lambda c: -c),
    "mul": _binary(F.mul2, op.mul, F.mul_scalar, F.mul_scalar),
    "div": _binary(F.div2, op.div, F.mul_scalar, F.r_div_scalar, lambda c: 1.0 / c),
    "pow": _binary(F.pow2, op.pow, F.pow_scalar, F.r_pow_scalar),
    "matmul": _matmul,
    "neg": lambda x: F.mul_scalar(x, -1),
    "abs": F.abs,
}


def in_place(name: str) -> Callable[..., Any]:
    """Makes an in-place operator of NdArrays. As in nnabla, + and - write into x, * and / only where y is a number;
    otherwise the name is bound to a new array."""
    operator = operators[name]

    def apply(x: Any, y: Any) -> Any:
        if name == "pow" or name in ("mul", "div") and isinstance(y, _ARRAYS):
            return operator(x, y)
        operator(x, y, outputs=[x])
        return x

    return apply


def swapped(operator: Callable[..., Any]) -> Callable[..., Any]:
    """The operator with exchanged operands."""
    return lambda y, x: operator(x, y)
