"""Quantisation: values on a grid, gradients of a line (straight-through estimators)."""

from __future__ import annotations

from typing import Any

import numpy as np

from compatgrad.nnabla._declare import function, op

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


@function("BinarySigmoid", "x", primitive=True)
def binary_sigmoid(x: Any) -> Any:
    """1 where x > 0, else 0. The gradient is 1/2 for |x| < 1, else 0."""
    return op.binary_sigmoid(x)


@function("BinaryTanh", "x", primitive=True)
def binary_tanh(x: Any) -> Any:
    """1 where x > 0, else -1. The gradient is 1 for |x| < 1, else 0."""
    return op.binary_tanh(x)


@function("Prune", "x", primitive=True)
def prune(x: Any, rate: float = 0.9) -> Any:
    """x with the `rate` share of its elements that are smallest in size set to 0. The gradient is 1
    everywhere.

    rate: in [0, 1]; RuntimeError beyond.
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
        raise RuntimeError(f"fixed_point_quantize: n={n} leaves no bits beside the sign.")
    return op.fixed_point_quantize(
        x, sign=bool(sign), n=int(n), delta=float(delta), ste_fine_grained=bool(ste_fine_grained)
    )


def fixed_point_quantize(
    x: Any,
    sign: bool = True,
    n: int = 8,
    delta: float = 2**-4,
    quantize: bool = True,
    ste_fine_grained: bool = True,
    outputs: Any = None,
) -> Any:
    """x rounded to multiples of `delta`, halves away from 0, and limited to what n bits can hold.

    sign: one bit is for the sign; the range is +-(2 ** (n - 1) - 1) delta, else 0 to (2 ** n - 1) delta.
    quantize: False gives x itself. ste_fine_grained: no gradient passes beyond the range; otherwise it is 1
    everywhere. RuntimeError unless n and delta are positive.
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
        raise RuntimeError(f"pow2_quantize: n={n} leaves no bits beside those of zero and the sign.")
    return op.pow2_quantize(
        x, sign=bool(sign), with_zero=bool(with_zero), n=int(n), m=int(m), ste_fine_grained=bool(ste_fine_grained)
    )


def pow2_quantize(
    x: Any,
    sign: bool = True,
    with_zero: bool = True,
    n: int = 8,
    m: int = 1,
    quantize: bool = True,
    ste_fine_grained: bool = True,
    outputs: Any = None,
) -> Any:
    """x rounded, geometrically, to powers of two of which 2 ** m is the largest and n bits tell how many
    there are.

    sign, with_zero: one bit each for the sign and for the number 0. quantize: False gives x itself.
    ste_fine_grained: no gradient passes where x is above the range (and below 0 without sign); otherwise it
    is 1 everywhere. RuntimeError where no bit is left.
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
            f"{tuple(ql_min.shape)}, must be same except where ql_min has length 1."
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


def min_max_quantize(
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
    quantize: bool = True,
    outputs: Any = None,
) -> Any:
    """x limited to [qr_min, qr_max] and rounded to the levels ql_min, ..., ql_max, which that range is
    divided into.

    The range is shifted so that 0 is a level, and at least `eps` wide. qr_min, qr_max, ql_min, ql_max: one
    shape, of x's ndim, with lengths 1 or x's (RuntimeError otherwise). x_min_max: the range is that of x, or
    with `ema` its moving average (by `decay`); it is written to qr_min and qr_max. Without x_min_max and ema
    the range is learned: both get the gradients of the elements beyond them. ste_fine_grained: x gets no
    gradient beyond the range; otherwise 1 everywhere. quantize: False gives x itself.
    """
    if not quantize:
        return x
    return _min_max_quantize(
        x, qr_min, qr_max, ql_min, ql_max, decay, x_min_max, ema, ste_fine_grained, eps, outputs=outputs
    )


# nnabla's numbers of the dtypes, and what they hold.
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


def quantize_linear(
    x: Any,
    scale: Any,
    zero_point: Any,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    dtype: Any = np.int8,
) -> Any:
    """round(x / scale) + zero_point, limited to what `dtype` holds; the result stays float32.

    scale, zero_point: of x's ndim, lengths 1 or x's; RuntimeError otherwise. round_mode: HALF_AWAY_FROM_ZERO
    or HALF_TO_EVEN. narrow_range: without the lowest level. dtype: numpy.int8 or numpy.uint8, ValueError for
    others. The gradient of x is 1 / scale everywhere; scale and zero_point get none.
    """
    if np.dtype(dtype) not in _DTYPES:
        raise ValueError(f"quantize_linear: dtype must be numpy.int8 or numpy.uint8, not {np.dtype(dtype)}.")
    return _quantize_linear(x, scale, zero_point, round_mode, narrow_range, _DTYPES[np.dtype(dtype)])


@function("DequantizeLinear", "x, scale, zero_point")
def dequantize_linear(x: Any, scale: Any, zero_point: Any) -> Any:
    """(x - zero_point) * scale, the inverse of `quantize_linear`.

    scale, zero_point: of x's ndim, lengths 1 or x's; RuntimeError otherwise. All inputs have gradients;
    nnabla's backward pass knows that of x alone.
    """
    _check_scales("dequantize_linear", x, scale, zero_point)
    return (x - zero_point) * scale
