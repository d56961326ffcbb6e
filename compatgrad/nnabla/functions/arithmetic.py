"""Arithmetic of two tensors, of many, and of a tensor and a number.

Binary functions broadcast by nnabla's rule: both inputs have the same number of axes, and lengths differ only
where one is 1; anything else is a RuntimeError. `inplace` is accepted and has no effect, as in nnabla.
"""

from __future__ import annotations

from typing import Any

import torch

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_broadcast, check_same_shape

__all__ = [
    "add2",
    "add_n",
    "add_scalar",
    "atan2",
    "batch_matmul",
    "bc_add2",
    "bit_shift",
    "div2",
    "maximum2",
    "maximum_scalar",
    "minimum2",
    "minimum_scalar",
    "mod2",
    "mul2",
    "mul_n",
    "mul_scalar",
    "pow2",
    "pow_scalar",
    "r_div_scalar",
    "r_pow_scalar",
    "r_sub_scalar",
    "sub2",
]


@function("Add2", "x0, x1", primitive=True)
def add2(x0: Any, x1: Any, inplace: bool = False) -> Any:
    """x0 + x1, element by element.

    x0, x1: shapes that broadcast with equal ndim. Gives a Variable of the common shape; RuntimeError
    otherwise.
    """
    check_broadcast("add2", x0, x1)
    return op.add(x0, x1)


@function("BcAdd2", "x0, x1", primitive=True)
def bc_add2(x0: Any, x1: Any, inplace: bool = False) -> Any:
    """x0 + x1; another name of `add2` with the same rules."""
    check_broadcast("bc_add2", x0, x1)
    return op.add(x0, x1)


@function("Sub2", "x0, x1", primitive=True)
def sub2(x0: Any, x1: Any, inplace: bool = False) -> Any:
    """x0 - x1, element by element.

    x0, x1: shapes that broadcast with equal ndim. Gives a Variable of the common shape; RuntimeError
    otherwise.
    """
    check_broadcast("sub2", x0, x1)
    return op.sub(x0, x1)


@function("Mul2", "x0, x1", primitive=True)
def mul2(x0: Any, x1: Any, inplace: bool = False) -> Any:
    """x0 * x1, element by element.

    x0, x1: shapes that broadcast with equal ndim. Gives a Variable of the common shape; RuntimeError
    otherwise.
    """
    check_broadcast("mul2", x0, x1)
    return op.mul(x0, x1)


@function("Div2", "x0, x1", primitive=True)
def div2(x0: Any, x1: Any, inplace: bool = False) -> Any:
    """x0 / x1, element by element.

    x0, x1: shapes that broadcast with equal ndim. Gives a Variable of the common shape; RuntimeError
    otherwise.
    """
    check_broadcast("div2", x0, x1)
    return op.div(x0, x1)


@function("Pow2", "x0, x1", primitive=True)
def pow2(x0: Any, x1: Any, inplace: bool = False) -> Any:
    """x0 ** x1, element by element.

    x0, x1: shapes that broadcast with equal ndim (RuntimeError otherwise). The gradient of x1 needs x0 > 0:
    it contains log(x0).
    """
    check_broadcast("pow2", x0, x1)
    return op.pow(x0, x1)


@function("Mod2", "x0, x1", primitive=True, dtypes="any")
def mod2(x0: Any, x1: Any, fmod: bool = False) -> Any:
    """Remainder of x0 / x1.

    x0, x1: shapes that broadcast with equal ndim (RuntimeError otherwise); computed in the dtype of x0, which
    the result keeps. Of floats, and of integers where `fmod`, the remainder has the sign of x0; of integers
    otherwise that of x1. nnabla raises in the backward pass; here the gradient of x0 is 1 and that of x1
    -trunc(x0 / x1).
    """
    check_broadcast("mod2", x0, x1)
    return op.mod(x0, x1, fmod=bool(fmod))


@function("BitShift", "x, shift", primitive=True, dtypes="any")
def bit_shift(x: Any, shift: Any, direction: str = "LEFT") -> Any:
    """Moves the bits of x by `shift` places; what leaves the word is lost, and a shift of all bits gives 0.

    x, shift: unsigned integers, shapes that broadcast with equal ndim; the result has the dtype of x.
    direction: "LEFT" or "RIGHT". RuntimeError for other directions, shapes and dtypes. No gradient.
    """
    check_broadcast("bit_shift", x, shift)
    if direction not in ("LEFT", "RIGHT"):
        raise RuntimeError(f"bit_shift: unsupported direction: {direction}; it must be LEFT or RIGHT.")
    return op.bit_shift(x, shift, direction=direction)


@function("ATan2", "x0, x1", primitive=True)
def atan2(x0: Any, x1: Any) -> Any:
    """Angle of the point (x1, x0) in [-pi, pi].

    x0, x1: shapes that broadcast with equal ndim; RuntimeError otherwise.
    """
    check_broadcast("atan2", x0, x1)
    return op.arctan2(x0, x1)


@function("Maximum2", "x0, x1", primitive=True)
def maximum2(x0: Any, x1: Any) -> Any:
    """The larger of x0 and x1, element by element; where they are equal the gradient goes to x1.

    x0, x1: shapes that broadcast with equal ndim; RuntimeError otherwise.
    """
    check_broadcast("maximum2", x0, x1)
    return op.maximum_last(x0, x1)


@function("Minimum2", "x0, x1", primitive=True)
def minimum2(x0: Any, x1: Any) -> Any:
    """The smaller of x0 and x1, element by element; where they are equal the gradient goes to x1.

    x0, x1: shapes that broadcast with equal ndim; RuntimeError otherwise.
    """
    check_broadcast("minimum2", x0, x1)
    return op.minimum_last(x0, x1)


@function("AddN", "*x", primitive=True)
def add_n(*x: Any) -> Any:
    """Sum of one or more tensors of one shape; RuntimeError where there is none or shapes differ."""
    _check_many("add_n", x)
    return op.add_active(list(x), active=_active(x))


@function("MulN", "*x", primitive=True)
def mul_n(*x: Any) -> Any:
    """Product of one or more tensors of one shape; RuntimeError where there is none or shapes differ.

    The gradient is right where factors are 0; nnabla's divides the product by the factor.
    """
    _check_many("mul_n", x)
    return op.mul_active(list(x), active=_active(x))


def _active(xs: Any) -> torch.Tensor:
    """Which inputs take part: all, until `Function.set_active_input_mask` writes into this tensor."""
    return torch.ones(len(xs), dtype=torch.int64)


def _check_many(name: str, xs: Any) -> None:
    if not xs:
        raise RuntimeError(f"{name}: at least one input should be given.")
    for x in xs[1:]:
        check_same_shape(name, xs[0], x)


@function("AddScalar", "x", primitive=True)
def add_scalar(x: Any, val: float = 1, inplace: bool = False) -> Any:
    """x + val. x: any shape. val: a number."""
    return op.add_scalar(x, value=float(val))


@function("MulScalar", "x", primitive=True)
def mul_scalar(x: Any, val: float = 1, inplace: bool = False) -> Any:
    """x * val. x: any shape. val: a number."""
    return op.mul_scalar(x, value=float(val))


@function("PowScalar", "x", primitive=True)
def pow_scalar(x: Any, val: float = 1, inplace: bool = False) -> Any:
    """x ** val. x: any shape. val: a number; NaN where x < 0 and val is no integer."""
    return op.pow_scalar(x, exponent=float(val))


@function("RSubScalar", "x", primitive=True)
def r_sub_scalar(x: Any, val: float = 1) -> Any:
    """val - x. x: any shape. val: a number."""
    return op.rsub_scalar(x, value=float(val))


@function("RDivScalar", "x", primitive=True)
def r_div_scalar(x: Any, val: float = 1) -> Any:
    """val / x. x: any shape. val: a number."""
    return op.rdiv_scalar(x, value=float(val))


@function("RPowScalar", "x", primitive=True)
def r_pow_scalar(x: Any, val: float = 1) -> Any:
    """val ** x. x: any shape. val: a number; its logarithm is in the gradient, so it should be positive."""
    return op.rpow_scalar(x, base=float(val))


@function("MaximumScalar", "x", primitive=True)
def maximum_scalar(x: Any, val: float = 1.0) -> Any:
    """x where it exceeds val, else val, without a gradient. x: any shape. val: a number."""
    return op.maximum_scalar(x, value=float(val))


@function("MinimumScalar", "x", primitive=True)
def minimum_scalar(x: Any, val: float = 1.0) -> Any:
    """x where it is below val, else val, without a gradient. x: any shape. val: a number."""
    return op.minimum_scalar(x, value=float(val))


@function("BatchMatmul", "a, b", primitive=True)
def batch_matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    """Products of the matrices in the last two axes of a and b.

    a: (..., P, Q), b: (..., Q, R), of three or more axes, equally many; the leading lengths are equal or 1.
    With `transpose_a` a is (..., Q, P), with `transpose_b` b is (..., R, Q). Gives (..., P, R). RuntimeError
    where shapes do not fit.
    """
    for i, x in enumerate((a, b)):
        if x.ndim < 3:
            raise RuntimeError(f"batch_matmul: input must be >=3 dimensions. (Given {x.ndim} at input {i})")
    inner = a.shape[-2 if transpose_a else -1], b.shape[-1 if transpose_b else -2]
    if inner[0] != inner[1]:
        raise RuntimeError(
            f"batch_matmul: reduction sizes mismatch ({inner[0]} != {inner[1]}) "
            f"in inputs of shape {tuple(a.shape)} and {tuple(b.shape)}."
        )
    if a.ndim != b.ndim:
        raise RuntimeError(f"batch_matmul: ndim of inputs[0] ({a.ndim}) must be ndim of inputs[1] ({b.ndim}).")
    for i, (m, n) in enumerate(zip(a.shape[:-2], b.shape[:-2], strict=True)):
        if m != n and 1 not in (m, n):
            raise RuntimeError(
                f"batch_matmul: shape[{i}] of inputs[0] ({m}) and of inputs[1] ({n}) must be equal or 1."
            )
    return op.matmul(a, b, transa=bool(transpose_a), transb=bool(transpose_b))
