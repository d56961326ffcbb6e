"""Elementwise functions of one tensor of any shape: exponentials, angles, rounding, limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.functions import arithmetic, reduction
from compatgrad.nnabla.variable import Variable

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "clip_by_norm",
    "clip_by_value",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "identity",
    "log",
    "reset_inf",
    "reset_nan",
    "round",
    "sign",
    "sin",
    "sinh",
    "tan",
]


@function("Abs", "x", primitive=True)
def abs(x: Any) -> Any:
    """|x|; the gradient at 0 is 1, as in nnabla."""
    return op.abs_right(x)


@function("Exp", "x", primitive=True)
def exp(x: Any) -> Any:
    """e ** x."""
    return op.exp(x)


@function("Log", "x", primitive=True)
def log(x: Any) -> Any:
    """Natural logarithm: -inf at 0, NaN below."""
    return op.log(x)


@function("Identity", "x", primitive=True)
def identity(x: Any) -> Any:
    """A copy of x."""
    return op.copy(x)


@function("Sin", "x", primitive=True)
def sin(x: Any) -> Any:
    """Sine of x in radians."""
    return op.sin(x)


@function("Cos", "x", primitive=True)
def cos(x: Any) -> Any:
    """Cosine of x in radians."""
    return op.cos(x)


@function("Tan", "x", primitive=True)
def tan(x: Any) -> Any:
    """Tangent of x in radians."""
    return op.tan(x)


@function("Sinh", "x", primitive=True)
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    return op.sinh(x)


@function("Cosh", "x", primitive=True)
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    return op.cosh(x)


@function("ASin", "x", primitive=True)
def asin(x: Any) -> Any:
    """Inverse sine in [-pi/2, pi/2]; NaN beyond [-1, 1]."""
    return op.arcsin(x)


@function("ACos", "x", primitive=True)
def acos(x: Any) -> Any:
    """Inverse cosine in [0, pi]; NaN beyond [-1, 1]."""
    return op.arccos(x)


@function("ATan", "x", primitive=True)
def atan(x: Any) -> Any:
    """Inverse tangent in [-pi/2, pi/2]."""
    return op.arctan(x)


@function("ASinh", "x", primitive=True)
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine."""
    return op.arcsinh(x)


@function("ACosh", "x", primitive=True)
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine; NaN below 1."""
    return op.arccosh(x)


@function("ATanh", "x", primitive=True)
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; NaN beyond [-1, 1]."""
    return op.arctanh(x)


@function("Erf", "x", primitive=True)
def erf(x: Any) -> Any:
    """Error function."""
    return op.erf(x)


@function("Round", "x", primitive=True)
def round(x: Any) -> Any:
    """x rounded to the nearest integer, halves away from 0. The gradient passes as through the identity."""
    return op.ste_round(x)


@function("Ceil", "x", primitive=True)
def ceil(x: Any) -> Any:
    """Smallest integer >= x. The gradient passes as through the identity."""
    return op.ste_ceil(x)


@function("Floor", "x", primitive=True)
def floor(x: Any) -> Any:
    """Largest integer <= x. The gradient passes as through the identity."""
    return op.ste_floor(x)


@function("Sign", "x", primitive=True)
def sign(x: Any, alpha: float = 1.0) -> Any:
    """1 where x > 0, -1 where x < 0, alpha where x is 0. The gradient passes as through the identity."""
    return op.ste_sign(x, alpha=float(alpha))


@function("ResetNaN", "x0", primitive=True)
def reset_nan(x0: Any, val: float = 0) -> Any:
    """x0 with val in the place of NaN; no gradient passes there."""
    return op.reset_nan(x0, value=float(val))


@function("ResetInf", "x0", primitive=True)
def reset_inf(x0: Any, val: float = 0) -> Any:
    """x0 with val in the place of infinities; no gradient passes there."""
    return op.reset_inf(x0, value=float(val))


def clip_by_value(x: Any, min: Any, max: Any) -> Any:
    """x limited to [min, max], as minimum(maximum(x, min), max); no gradient passes beyond the limits.

    x: Variable or NdArray. min, max: numbers, or Variables or NdArrays that broadcast with x at equal ndim.
    TypeError for other limits.
    """

    def limit(bound: Any, name: str, by_number: Any, by_tensor: Any) -> Any:
        if np.isscalar(bound):
            return by_number
        if isinstance(bound, (Variable, NdArray)):
            return by_tensor
        kind = type(bound).__name__
        raise TypeError(f"clip_by_value: {name} must be Variable, NdArray, or scalar, not {kind}.")

    above = limit(min, "min", arithmetic.maximum_scalar, arithmetic.maximum2)
    below = limit(max, "max", arithmetic.minimum_scalar, arithmetic.minimum2)
    return below(above(x, min), max)


def clip_by_norm(x: Any, clip_norm: Any, axis: int | Iterable[int] | None = None) -> Any:
    """x, scaled down to the L2 norm `clip_norm` where its norm is larger.

    x: Variable or NdArray. clip_norm: a positive number (ValueError otherwise), or a Variable or NdArray that
    broadcasts with the norms. axis: the axes that one norm is taken over, all by default.
    """
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, Iterable) else (axis,)
    norm = arithmetic.pow_scalar(reduction.sum(arithmetic.pow_scalar(x, 2.0), axes, True), 0.5)
    if isinstance(clip_norm, (Variable, NdArray)):
        return x * clip_norm / arithmetic.maximum2(norm, clip_norm)
    if clip_norm <= 0:
        raise ValueError(f"clip_by_norm: clip_norm must be positive, not {clip_norm}.")
    return x * clip_norm / arithmetic.maximum_scalar(norm, clip_norm)
