"""Element-wise functions of one array of any shape: exponentials, trigonometric functions, rounding, limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.functions import arithmetic, reduction
from compatgrad.nnabla.functions._sections import ANGLES, POINTWISE
from compatgrad.nnabla.variable import Variable

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

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


@function("Abs", "x", primitive=True, shared=(POINTWISE,))
def abs(x: Array) -> Array:
    """|x|, element-wise; the gradient at 0 is 1.

    Example:
        >>> F.abs(nn.NdArray.from_numpy_array(np.array([-2.0, 0.0, 3.0]))).data
        array([2., 0., 3.], dtype=float32)
    """
    return op.abs_right(x)


@function("Exp", "x", primitive=True, shared=(POINTWISE,))
def exp(x: Array) -> Array:
    """e ** x, element-wise.

    Example:
        >>> F.exp(nn.NdArray.from_numpy_array(np.array([0.0, 1.0, -1.0]))).data
        array([1.        , 2.7182817 , 0.36787945], dtype=float32)
    """
    return op.exp(x)


@function("Log", "x", primitive=True, shared=(POINTWISE,))
def log(x: Array) -> Array:
    """Natural logarithm, element-wise: -inf at 0 and NaN below.

    Example:
        >>> F.log(nn.NdArray.from_numpy_array(np.array([1.0, 10.0, 0.0, -1.0]))).data
        array([0.       , 2.3025851,      -inf,       nan], dtype=float32)
    """
    return op.log(x)


@function("Identity", "x", primitive=True, shared=(POINTWISE,))
def identity(x: Array) -> Array:
    """A copy of x, through which the gradient passes unchanged.

    Example:
        >>> F.identity(nn.NdArray.from_numpy_array(np.array([1.0, 2.0]))).data
        array([1., 2.], dtype=float32)
    """
    return op.copy(x)


@function("Sin", "x", primitive=True, shared=(ANGLES,))
def sin(x: Array) -> Array:
    """Sine, element-wise.

    Example:
        >>> F.sin(nn.NdArray.from_numpy_array(np.array([0.0, np.pi / 6, np.pi / 2]))).data
        array([0. , 0.5, 1. ], dtype=float32)
    """
    return op.sin(x)


@function("Cos", "x", primitive=True, shared=(ANGLES,))
def cos(x: Array) -> Array:
    """Cosine, element-wise.

    Example:
        >>> F.cos(nn.NdArray.from_numpy_array(np.array([0.0, np.pi]))).data
        array([ 1., -1.], dtype=float32)
    """
    return op.cos(x)


@function("Tan", "x", primitive=True, shared=(ANGLES,))
def tan(x: Array) -> Array:
    """Tangent, element-wise.

    Example:
        >>> F.tan(nn.NdArray.from_numpy_array(np.array([0.0, np.pi / 4]))).data
        array([0., 1.], dtype=float32)
    """
    return op.tan(x)


@function("Sinh", "x", primitive=True, shared=(POINTWISE,))
def sinh(x: Array) -> Array:
    """Hyperbolic sine, (exp(x) - exp(-x)) / 2, element-wise.

    Example:
        >>> F.sinh(nn.NdArray.from_numpy_array(np.array([0.0, 1.0, -1.0]))).data
        array([ 0.       ,  1.1752012, -1.1752012], dtype=float32)
    """
    return op.sinh(x)


@function("Cosh", "x", primitive=True, shared=(POINTWISE,))
def cosh(x: Array) -> Array:
    """Hyperbolic cosine, (exp(x) + exp(-x)) / 2, element-wise.

    Example:
        >>> F.cosh(nn.NdArray.from_numpy_array(np.array([0.0, 1.0, -1.0]))).data
        array([1.       , 1.5430806, 1.5430806], dtype=float32)
    """
    return op.cosh(x)


@function("ASin", "x", primitive=True)
def asin(x: Array) -> Array:
    """Inverse sine, element-wise: angles in [-pi/2, pi/2].

    Args:
        x: any shape, computed in float32; the result is NaN outside [-1, 1].

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.asin(nn.NdArray.from_numpy_array(np.array([0.0, 0.5, 1.0, 2.0]))).data
        array([0.       , 0.5235988, 1.5707964,       nan], dtype=float32)
    """
    return op.arcsin(x)


@function("ACos", "x", primitive=True)
def acos(x: Array) -> Array:
    """Inverse cosine, element-wise: angles in [0, pi].

    Args:
        x: any shape, computed in float32; the result is NaN outside [-1, 1].

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.acos(nn.NdArray.from_numpy_array(np.array([1.0, 0.5, -1.0]))).data
        array([0.       , 1.0471976, 3.1415927], dtype=float32)
    """
    return op.arccos(x)


@function("ATan", "x", primitive=True, shared=(POINTWISE,))
def atan(x: Array) -> Array:
    """Inverse tangent, element-wise: angles in [-pi/2, pi/2].

    Example:
        >>> F.atan(nn.NdArray.from_numpy_array(np.array([0.0, 1.0, np.inf]))).data
        array([0.       , 0.7853982, 1.5707964], dtype=float32)
    """
    return op.arctan(x)


@function("ASinh", "x", primitive=True, shared=(POINTWISE,))
def asinh(x: Array) -> Array:
    """Inverse hyperbolic sine, log(x + sqrt(x ** 2 + 1)), element-wise.

    Example:
        >>> F.asinh(nn.NdArray.from_numpy_array(np.array([0.0, 1.0, -1.0]))).data
        array([ 0.       ,  0.8813736, -0.8813736], dtype=float32)
    """
    return op.arcsinh(x)


@function("ACosh", "x", primitive=True)
def acosh(x: Array) -> Array:
    """Inverse hyperbolic cosine, log(x + sqrt(x ** 2 - 1)), element-wise.

    Args:
        x: any shape, computed in float32; the result is NaN below 1.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.acosh(nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 0.0]))).data
        array([0.      , 1.316958,      nan], dtype=float32)
    """
    return op.arccosh(x)


@function("ATanh", "x", primitive=True)
def atanh(x: Array) -> Array:
    """Inverse hyperbolic tangent, log((1 + x) / (1 - x)) / 2, element-wise.

    Args:
        x: any shape, computed in float32; infinite at -1 and 1, NaN beyond.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.atanh(nn.NdArray.from_numpy_array(np.array([0.0, 0.5, 1.0]))).data
        array([0.        , 0.54930615,        inf], dtype=float32)
    """
    return op.arctanh(x)


@function("Erf", "x", primitive=True, shared=(POINTWISE,))
def erf(x: Array) -> Array:
    """Error function, 2 / sqrt(pi) times the integral of exp(-t ** 2) from 0 to x, element-wise.

    Example:
        >>> F.erf(nn.NdArray.from_numpy_array(np.array([0.0, 0.5, 1.0]))).data
        array([0.       , 0.5204999, 0.8427008], dtype=float32)
    """
    return op.erf(x)


@function("Round", "x", primitive=True, shared=(POINTWISE,))
def round(x: Array) -> Array:
    """x rounded to the nearest integer, halves away from 0.

    The gradient passes as through the identity, so that networks with rounded values can be trained.

    Example:
        >>> F.round(nn.NdArray.from_numpy_array(np.array([-0.5, 0.5, 1.4, 2.5]))).data
        array([-1.,  1.,  1.,  3.], dtype=float32)
    """
    return op.ste_round(x)


@function("Ceil", "x", primitive=True, shared=(POINTWISE,))
def ceil(x: Array) -> Array:
    """Smallest integer >= x, element-wise. The gradient passes as through the identity.

    Example:
        >>> F.ceil(nn.NdArray.from_numpy_array(np.array([-1.5, 0.2, 2.0]))).data
        array([-1.,  1.,  2.], dtype=float32)
    """
    return op.ste_ceil(x)


@function("Floor", "x", primitive=True, shared=(POINTWISE,))
def floor(x: Array) -> Array:
    """Largest integer <= x, element-wise. The gradient passes as through the identity.

    Example:
        >>> F.floor(nn.NdArray.from_numpy_array(np.array([-1.5, 0.2, 2.0]))).data
        array([-2.,  0.,  2.], dtype=float32)
    """
    return op.ste_floor(x)


@function("Sign", "x", primitive=True)
def sign(x: Array, alpha: float = 1.0) -> Array:
    """1 where x > 0, -1 where x < 0, alpha where x is 0. The gradient passes as through the identity.

    Args:
        x: any shape, computed in float32.
        alpha: the result at 0.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.sign(nn.NdArray.from_numpy_array(np.array([-2.0, 0.0, 3.0])), alpha=0.0).data
        array([-1.,  0.,  1.], dtype=float32)
    """
    return op.ste_sign(x, alpha=float(alpha))


@function("ResetNaN", "x0", primitive=True)
def reset_nan(x0: Array, val: float = 0) -> Array:
    """x0 with NaN replaced by `val`; no gradient passes there.

    Args:
        x0: any shape, computed in float32.
        val: the value that replaces NaN.

    Returns:
        Array of the shape of `x0`.

    Example:
        >>> F.reset_nan(nn.NdArray.from_numpy_array(np.array([1.0, np.nan])), val=-1).data
        array([ 1., -1.], dtype=float32)
    """
    return op.reset_nan(x0, value=float(val))


@function("ResetInf", "x0", primitive=True)
def reset_inf(x0: Array, val: float = 0) -> Array:
    """x0 with both infinities replaced by `val`; no gradient passes there.

    Args:
        x0: any shape, computed in float32.
        val: the value that replaces infinities.

    Returns:
        Array of the shape of `x0`.

    Example:
        >>> F.reset_inf(nn.NdArray.from_numpy_array(np.array([1.0, np.inf, -np.inf])), val=9).data
        array([1., 9., 9.], dtype=float32)
    """
    return op.reset_inf(x0, value=float(val))


def clip_by_value(x: Array, min: float | Array, max: float | Array) -> Array:
    """x limited to [min, max], as minimum(maximum(x, min), max); no gradient passes outside the limits.

    Args:
        x: any shape, computed in float32.
        min, max: the limits: numbers, or arrays that broadcast with `x` and have as many axes.

    Returns:
        Array of the shape of `x`, or of the shape that it and the limits broadcast to.

    Raises:
        TypeError: `x` is neither a Variable nor an NdArray, or a limit is neither a number nor a Variable nor an
            NdArray.
        RuntimeError: a limit has another number of axes than `x`, or does not broadcast with it.

    Example:
        >>> F.clip_by_value(nn.NdArray.from_numpy_array(np.array([-2.0, 0.5, 3.0])), 0.0, 1.0).data
        array([0. , 0.5, 1. ], dtype=float32)

    Source: `nnabla.functions.clip_by_value` of nnabla 1.39.0.
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


def clip_by_norm(x: Array, clip_norm: float | Array, axis: int | Iterable[int] | None = None) -> Array:
    """x, scaled to the L2 norm `clip_norm` where its norm is larger.

    Args:
        x: any shape, computed in float32.
        clip_norm: a positive number, or an array that broadcasts with the norms (`x`'s axes, 1 along `axis`).
        axis: the axes over which a norm is computed, by default all.

    Returns:
        Array of the shape of `x`.

    Raises:
        TypeError: an input is neither a Variable nor an NdArray.
        ValueError: `clip_norm` is a number and not positive.
        RuntimeError: `x` does not have an axis of `axis`.

    Example:
        >>> F.clip_by_norm(nn.NdArray.from_numpy_array(np.array([3.0, 4.0])), 1.0).data
        array([0.6, 0.8], dtype=float32)

    Source: `nnabla.functions.clip_by_norm` of nnabla 1.39.0.
    """
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, Iterable) else (axis,)
    norm = arithmetic.pow_scalar(reduction.sum(arithmetic.pow_scalar(x, 2.0), axes, True), 0.5)
    if isinstance(clip_norm, (Variable, NdArray)):
        return x * clip_norm / arithmetic.maximum2(norm, clip_norm)
    if clip_norm <= 0:
        raise ValueError(f"clip_by_norm: clip_norm must be positive, not {clip_norm}.")
    return x * clip_norm / arithmetic.maximum_scalar(norm, clip_norm)
