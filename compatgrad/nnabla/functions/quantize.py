"""Quantization: values are rounded to a grid, and gradients pass as if they were not (straight-through estimators)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from compatgrad.nnabla._nd_array import NdArray
    from compatgrad.nnabla._typing import Array

__all__ = [
    "binary_sigmoid",
    "binary_tanh",
    "dequantize_linear",
    "fixed_point_quantize",
    "min_max_quantize",
    "pow2_quantize",
    "prune",
    "quantize_linear",
]


# The shared sections of docstrings: of functions of one array, and of functions with a scale.
_SHARED = """
Args:
    x: any shape, computed in float32.
    quantize: whether to quantize; otherwise the result is `x` itself.

Returns:
    Array of the shape of `x`.
"""
_SCALES = """
Args:
    x: any shape, computed in float32.
    scale: the distance between levels, with as many axes as `x`, each of its length or 1.
    zero_point: the level of 0, with as many axes as `x`, each of its length or 1.

Returns:
    Array of the shape of `x`.

Raises:
    RuntimeError: the shapes do not fit.
"""


@function("BinarySigmoid", "x", primitive=True, shared=(_SHARED,))
def binary_sigmoid(x: Array) -> Array:
    """1 where x > 0, else 0 (Courbariaux et al., 2015). The gradient is 1/2 for |x| < 1, else 0.

    Example:
        >>> F.binary_sigmoid(nn.NdArray.from_numpy_array(np.array([-0.5, 0.0, 2.0]))).data
        array([0., 0., 1.], dtype=float32)
    """
    return op.binary_sigmoid(x)


@function("BinaryTanh", "x", primitive=True, shared=(_SHARED,))
def binary_tanh(x: Array) -> Array:
    """1 where x > 0, else -1 (Courbariaux et al., 2015). The gradient is 1 for |x| < 1, else 0.

    Example:
        >>> F.binary_tanh(nn.NdArray.from_numpy_array(np.array([-0.5, 0.0, 2.0]))).data
        array([-1., -1.,  1.], dtype=float32)
    """
    return op.binary_tanh(x)


@function("Prune", "x", primitive=True, shared=(_SHARED,))
def prune(x: Array, rate: float = 0.9) -> Array:
    """Sets the elements of smallest magnitude to 0. The gradient is 1 everywhere.

    Args:
        rate: the fraction of elements to set to 0, in [0, 1].

    Raises:
        RuntimeError: `rate` is not in [0, 1].

    Example:
        >>> F.prune(nn.NdArray.from_numpy_array(np.array([0.1, -3.0, 2.0, -0.5])), rate=0.5).data
        array([ 0. , -3. ,  2. , -0.5], dtype=float32)
    """
    if not 0 <= rate <= 1:
        raise RuntimeError(f"prune: rate {rate} must be in [0, 1].")
    return op.prune(x, rate=float(rate))


@function("FixedPointQuantize", "x", primitive=True)
def _fixed_point_quantize(
    x: Any, sign: bool = True, n: int = 8, delta: float = 0.0625, ste_fine_grained: bool = True
) -> Any:
    if not (n > 0 and delta > 0):
        raise RuntimeError(f"fixed_point_quantize: n and delta must be positive, not n={n} and delta={delta}.")
    bits = n - 1 if sign else n
    if bits <= 0:
        raise RuntimeError(f"fixed_point_quantize: n={n} leaves no bits except the sign.")
    return op.fixed_point_quantize(
        x, sign=bool(sign), n=int(n), delta=float(delta), ste_fine_grained=bool(ste_fine_grained)
    )


@documented(_SHARED)
def fixed_point_quantize(
    x: Array,
    sign: bool = True,
    n: int = 8,
    delta: float = 2 ** (-4),
    quantize: bool = True,
    ste_fine_grained: bool = True,
    outputs: Sequence[NdArray | None] | None = None,
) -> Array:
    """Rounds to multiples of `delta`, halves away from 0, and limits to the range of n bits.

    Args:
        sign: whether one bit is for the sign: the range is -(2 ** (n - 1) - 1) delta ... (2 ** (n - 1) - 1) delta, else
            0 ... (2 ** n - 1) delta.
        n: the number of bits.
        delta: the distance between levels.
        ste_fine_grained: True passes no gradient outside the range; False gives the gradient 1 everywhere.

    Raises:
        RuntimeError: `n` or `delta` is not positive, or no bit is left except the sign.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([0.3, -0.2, 5.0]))
        >>> F.fixed_point_quantize(x, n=4, delta=0.25).data
        array([ 0.25, -0.25,  1.75], dtype=float32)
    """
    if not quantize:
        return x
    return _fixed_point_quantize(x, sign, n, delta, ste_fine_grained, outputs=outputs)


@function("Pow2Quantize", "x", primitive=True)
def _pow2_quantize(
    x: Any, sign: bool = True, with_zero: bool = True, n: int = 8, m: int = 1, ste_fine_grained: bool = True
) -> Any:
    bits = n - bool(sign) - bool(with_zero)
    if n <= 0:
        raise RuntimeError(f"pow2_quantize: bit width n={n} should be positive.")
    if bits <= 0:
        raise RuntimeError(f"pow2_quantize: n={n} leaves no bits except those of zero and the sign.")
    return op.pow2_quantize(
        x, sign=bool(sign), with_zero=bool(with_zero), n=int(n), m=int(m), ste_fine_grained=bool(ste_fine_grained)
    )


@documented(_SHARED)
def pow2_quantize(
    x: Array,
    sign: bool = True,
    with_zero: bool = True,
    n: int = 8,
    m: int = 1,
    quantize: bool = True,
    ste_fine_grained: bool = True,
    outputs: Sequence[NdArray | None] | None = None,
) -> Array:
    """Rounds to powers of two, on a logarithmic scale.

    Args:
        sign: whether one bit is for the sign.
        with_zero: whether one bit is for the number 0.
        n: the number of bits. They determine the number of powers.
        m: the largest one is 2 ** m.
        ste_fine_grained: True passes no gradient above the range, and below 0 without `sign`; False gives the gradient
            1 everywhere.

    Raises:
        RuntimeError: `n` is not positive, or no bit is left except those for the sign and for 0.

    Example:
        >>> F.pow2_quantize(nn.NdArray.from_numpy_array(np.array([0.3, -1.1, 5.0])), n=4).data
        array([ 0.25, -1.  ,  2.  ], dtype=float32)
    """
    if not quantize:
        return x
    return _pow2_quantize(x, sign, with_zero, n, m, ste_fine_grained, outputs=outputs)


@function("MinMaxQuantize", "x, qr_min, qr_max, ql_min, ql_max", primitive=True, effects=True)
def _min_max_quantize(
    x: Any,
    qr_min: Any,
    qr_max: Any,
    ql_min: Any,
    ql_max: Any,
    decay: float = 0.999,
    x_min_max: bool = False,
    ema: bool = False,
    ste_fine_grained: bool = True,
    eps: float = 0.01,
) -> Any:
    ranges = {"qr_max": qr_max, "ql_min": ql_min, "ql_max": ql_max}
    for name, v in ranges.items():
        if tuple(v.shape) != tuple(qr_min.shape):
            raise RuntimeError(
                "min_max_quantize: ql_min, ql_max, qr_min and qr_max must have one shape; "
                f"qr_min has {tuple(qr_min.shape)}, {name} has {tuple(v.shape)}."
            )
    if qr_min.ndim != x.ndim or any(m not in (1, n) for m, n in zip(qr_min.shape, x.shape, strict=True)):
        raise RuntimeError(
            f"min_max_quantize: the shape of x, {tuple(x.shape)}, and that of ql_min, "
            f"{tuple(ql_min.shape)}, must be the same except where ql_min has length 1."
        )
    return op.min_max_quantize(
        x,
        qr_min,
        qr_max,
        ql_min,
        ql_max,
        decay=float(decay),
        x_min_max=bool(x_min_max),
        ema=bool(ema),
        eps=float(eps),
        ste_fine_grained=bool(ste_fine_grained),
    )


@documented(_SHARED)
def min_max_quantize(
    x: Array,
    qr_min: Array,
    qr_max: Array,
    ql_min: Array,
    ql_max: Array,
    decay: float = 0.999,
    x_min_max: bool = False,
    ema: bool = False,
    ste_fine_grained: bool = True,
    eps: float = 0.01,
    quantize: bool = True,
    outputs: Sequence[NdArray | None] | None = None,
) -> Array:
    """Limits to a range, and rounds to the levels that divide the range (Jacob et al., 2017).

    The range is moved so that 0 is a level. Without `x_min_max` it is learned: `qr_min` and `qr_max` get the gradients
    of the elements outside the range.

    Args:
        qr_min, qr_max: the range, with as many axes as `x`, each of its length or 1.
        ql_min, ql_max: the numbers of the lowest and of the highest level, of the shape of `qr_min`.
        decay: weight of the old value in the moving average of `ema`.
        x_min_max: whether the range is that of `x`, which is written into `qr_min` and `qr_max`.
        ema: whether, with `x_min_max`, the range is a moving average of the ranges of all passes.
        ste_fine_grained: True passes no gradient outside the range; False gives the gradient 1 everywhere.
        eps: the smallest width of the range.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> x, low, high, first, last = (
        ...     nn.NdArray.from_numpy_array(np.array(v)) for v in ([-0.3, 0.4, 2.0], [-1.0], [1.0], [0.0], [4.0])
        ... )
        >>> F.min_max_quantize(x, low, high, first, last).data
        array([-0.5,  0.5,  1. ], dtype=float32)
    """
    if not quantize:
        return x
    return _min_max_quantize(
        x, qr_min, qr_max, ql_min, ql_max, decay, x_min_max, ema, ste_fine_grained, eps, outputs=outputs
    )


# nnabla's numbers of dtypes -> the range of the dtype
_LEVELS = {1: (-128.0, 127.0), 2: (0.0, 255.0)}
_DTYPES = {np.dtype(np.int8): 1, np.dtype(np.uint8): 2}


def _check_scales(name: str, x: Any, scale: Any, zero_point: Any) -> None:
    if not x.ndim == scale.ndim == zero_point.ndim:
        raise RuntimeError(f"{name}: dimensions of inputs must be same ({x.ndim}, {scale.ndim}, {zero_point.ndim}).")
    for k, v in enumerate((scale, zero_point), 1):
        for i, (m, n) in enumerate(zip(v.shape, x.shape, strict=True)):
            if m not in (1, n):
                raise RuntimeError(
                    f"{name}: size at {i}-th dimension of inputs[{k}] ({m}) must be 1 or "
                    f"that at {i}-th dimension of inputs[0] ({n})."
                )


@function("QuantizeLinear", "x, scale, zero_point")
def _quantize_linear(
    x: Any,
    scale: Any,
    zero_point: Any,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    dtype: int = 1,
) -> Any:
    _check_scales("quantize_linear", x, scale, zero_point)
    if round_mode not in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"):
        raise RuntimeError(
            f"quantize_linear: round_mode must be HALF_AWAY_FROM_ZERO or HALF_TO_EVEN, not {round_mode}."
        )
    if dtype not in _LEVELS:
        raise RuntimeError(f"quantize_linear: dtype must be 1 (int8) or 2 (uint8), not {dtype}.")
    low, high = _LEVELS[dtype]
    low += bool(narrow_range)
    nearest = op.ste_round if round_mode == "HALF_AWAY_FROM_ZERO" else op.rint
    zero = op.clip(nearest(zero_point), min=low, max=high, product=False)
    y = op.clip(nearest(x / scale) + zero, min=low, max=high, product=False)
    return op.straight_through(y, x / op.stop_gradient(scale))


@documented(_SCALES)
def quantize_linear(
    x: Array,
    scale: Array,
    zero_point: Array,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    dtype: DTypeLike = np.int8,
) -> Array:
    """round(x / scale) + zero_point, limited to the range of an 8-bit integer; the result is float32.

    The gradient of `x` is 1 / scale everywhere; `scale` and `zero_point` get none.

    Args:
        round_mode: rounding of halves: "HALF_AWAY_FROM_ZERO" or "HALF_TO_EVEN".
        narrow_range: whether to leave out the lowest level.
        dtype: numpy.int8 or numpy.uint8.

    Raises:
        RuntimeError: the shapes do not fit, or the mode is unknown.
        ValueError: `dtype` is neither numpy.int8 nor numpy.uint8.

    Example:
        >>> x, scale, zero = (nn.NdArray.from_numpy_array(np.array(v)) for v in ([0.3, -1.1, 99.0], [0.5], [2.0]))
        >>> F.quantize_linear(x, scale, zero).data
        array([  3.,   0., 127.], dtype=float32)
    """
    if np.dtype(dtype) not in _DTYPES:
        raise ValueError(f"quantize_linear: dtype must be numpy.int8 or numpy.uint8, not {np.dtype(dtype)}.")
    return _quantize_linear(x, scale, zero_point, round_mode, narrow_range, _DTYPES[np.dtype(dtype)])


@function("DequantizeLinear", "x, scale, zero_point", shared=(_SCALES,))
def dequantize_linear(x: Array, scale: Array, zero_point: Array) -> Array:
    """(x - zero_point) * scale, the inverse of `quantize_linear`.

    All inputs get gradients; in nnabla's backward pass, only `x` does.

    Example:
        >>> x, scale, zero = (nn.NdArray.from_numpy_array(np.array(v)) for v in ([3.0, 0.0, 127.0], [0.5], [2.0]))
        >>> F.dequantize_linear(x, scale, zero).data
        array([ 0.5, -1. , 62.5], dtype=float32)
    """
    _check_scales("dequantize_linear", x, scale, zero_point)
    return (x - zero_point) * scale
