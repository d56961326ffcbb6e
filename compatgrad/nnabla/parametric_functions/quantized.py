"""Layers with quantized or pruned weights.

The float weights are the ones that learn. Forward writes what it computed with to parameters beside them,
whose names end in ``_q``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import functions as F
from ..initializer import ConstantInitializer
from ..parameter import get_parameter_or_create
from ._api import parametric_function_api
from ._common import dense_shapes, filter_shapes, glorot, weight

__all__ = [
    "fixed_point_quantized_affine",
    "fixed_point_quantized_convolution",
    "min_max_quantize",
    "min_max_quantized_affine",
    "min_max_quantized_convolution",
    "pow2_quantized_affine",
    "pow2_quantized_convolution",
    "pruned_affine",
    "pruned_convolution",
]

# from a parameter, and the NdArray that keeps the result, to the result
_Quantizer = Callable[[Any, Any], Any]


def _quantized(name: str, shape: Sequence[int], init: Any, fix: bool, quantizer: _Quantizer | None) -> Any:
    param = weight(name, shape, init, fix)
    if quantizer is None:
        return param
    kept = get_parameter_or_create(name + "_q", shape, init, False)
    result = quantizer(param, kept.data)
    result.persistent = True
    return result


def _both(w_shape, w_init, b_shape, b_init, fix, with_bias, quantize_w, quantize_b):
    w = _quantized("W", w_shape, w_init, fix, quantize_w)
    if not with_bias:
        return w, None
    return w, _quantized("b", b_shape, ConstantInitializer() if b_init is None else b_init, fix, quantize_b)


def _affine(function, inp, n_outmaps, base_axis, w_init, b_init, fix, rng, with_bias, quantize_w, quantize_b):
    outs, n_in, n_out = dense_shapes(function, inp, n_outmaps, base_axis)
    w_init = glorot(rng, n_in, n_out) if w_init is None else w_init
    w, b = _both([n_in, *outs], w_init, outs, b_init, fix, with_bias, quantize_w, quantize_b)
    return F.affine(inp, w, b, base_axis)


def _convolution(function, inp, outmaps, kernel, geometry, w_init, b_init, fix, rng, with_bias, quantize_w, quantize_b):
    base_axis, _, _, _, group, channel_last = geometry
    channels, one = filter_shapes(function, inp, kernel, group, channel_last, base_axis)
    w_init = glorot(rng, channels, outmaps, kernel) if w_init is None else w_init
    w, b = _both((outmaps, *one), w_init, (outmaps,), b_init, fix, with_bias, quantize_w, quantize_b)
    return F.convolution(inp, w, b, *geometry)


def _descriptions(shape: str) -> list[tuple[str, str, str, bool]]:
    return [
        ("W", "float weights", shape, True),
        ("b", "float bias", "(outmaps,)", True),
        ("W_q", "weights that forward computed with", shape, False),
        ("b_q", "bias that forward computed with", "(outmaps,)", False),
    ]


_DENSE = _descriptions("(inmaps, outmaps)")
_FILTERS = _descriptions("(outmaps, inmaps // group, *kernel)")


def _fixed_point(on, sign, n, delta, ste_fine_grained) -> _Quantizer | None:
    if not on:
        return None
    return lambda x, kept: F.fixed_point_quantize(
        x, quantize=on, sign=sign, n=n, delta=delta, ste_fine_grained=ste_fine_grained, outputs=[kept]
    )


@parametric_function_api("fp_quantized_affine", _DENSE)
def fixed_point_quantized_affine(
    inp,
    n_outmaps,
    base_axis=1,
    w_init=None,
    b_init=None,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    quantize_w=True,
    sign_w=True,
    n_w=8,
    delta_w=2**-4,
    ste_fine_grained_w=True,
    quantize_b=True,
    sign_b=True,
    n_b=8,
    delta_b=2**-4,
    ste_fine_grained_b=True,
):
    """`affine` with weights and bias rounded to multiples of `delta_*`, in `n_*` bits.

    `sign_*` says whether one is for the sign. ``quantize_w=False`` and ``quantize_b=False`` leave them as
    they are. `ste_fine_grained_*` lets no gradient through where a value is cut off. Other arguments as in
    `affine`.
    """
    quantize_w = _fixed_point(quantize_w, sign_w, n_w, delta_w, ste_fine_grained_w)
    quantize_b = _fixed_point(quantize_b, sign_b, n_b, delta_b, ste_fine_grained_b)
    return _affine(
        "fixed_point_quantized_affine",
        inp,
        n_outmaps,
        base_axis,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )


@parametric_function_api("fp_quantized_conv", _FILTERS)
def fixed_point_quantized_convolution(
    inp,
    outmaps,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    channel_last=False,
    w_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    quantize_w=True,
    sign_w=True,
    n_w=8,
    delta_w=2**-4,
    ste_fine_grained_w=True,
    quantize_b=True,
    sign_b=True,
    n_b=8,
    delta_b=2**-4,
    ste_fine_grained_b=True,
):
    """`convolution` with filters and bias quantized as in `fixed_point_quantized_affine`."""
    geometry = (base_axis, pad, stride, dilation, group, channel_last)
    quantize_w = _fixed_point(quantize_w, sign_w, n_w, delta_w, ste_fine_grained_w)
    quantize_b = _fixed_point(quantize_b, sign_b, n_b, delta_b, ste_fine_grained_b)
    return _convolution(
        "fixed_point_quantized_convolution",
        inp,
        outmaps,
        kernel,
        geometry,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )


def _pow2(on, sign, with_zero, n, m, ste_fine_grained) -> _Quantizer | None:
    if not on:
        return None
    return lambda x, kept: F.pow2_quantize(
        x,
        quantize=on,
        sign=sign,
        with_zero=with_zero,
        n=n,
        m=m,
        ste_fine_grained=ste_fine_grained,
        outputs=[kept],
    )


@parametric_function_api("pow2_quantized_affine", _DENSE)
def pow2_quantized_affine(
    inp,
    n_outmaps,
    base_axis=1,
    w_init=None,
    b_init=None,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    quantize_w=True,
    sign_w=True,
    with_zero_w=False,
    n_w=8,
    m_w=2,
    ste_fine_grained_w=True,
    quantize_b=True,
    sign_b=True,
    with_zero_b=False,
    n_b=8,
    m_b=2,
    ste_fine_grained_b=True,
):
    """`affine` with weights and bias rounded to powers of two of `n_*` bits, the largest being ``2 ** m_*``.

    `with_zero_*` spends a value on 0; other arguments as in `fixed_point_quantized_affine`.
    """
    quantize_w = _pow2(quantize_w, sign_w, with_zero_w, n_w, m_w, ste_fine_grained_w)
    quantize_b = _pow2(quantize_b, sign_b, with_zero_b, n_b, m_b, ste_fine_grained_b)
    return _affine(
        "pow2_quantized_affine",
        inp,
        n_outmaps,
        base_axis,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )


@parametric_function_api("pow2_quantized_conv", _FILTERS)
def pow2_quantized_convolution(
    inp,
    outmaps,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    w_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    quantize_w=True,
    with_zero_w=False,
    sign_w=True,
    n_w=8,
    m_w=2,
    ste_fine_grained_w=True,
    quantize_b=True,
    with_zero_b=False,
    sign_b=True,
    n_b=8,
    m_b=2,
    ste_fine_grained_b=True,
):
    """`convolution` with filters and bias quantized as in `pow2_quantized_affine`."""
    geometry = (base_axis, pad, stride, dilation, group, False)
    quantize_w = _pow2(quantize_w, sign_w, with_zero_w, n_w, m_w, ste_fine_grained_w)
    quantize_b = _pow2(quantize_b, sign_b, with_zero_b, n_b, m_b, ste_fine_grained_b)
    return _convolution(
        "pow2_quantized_convolution",
        inp,
        outmaps,
        kernel,
        geometry,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )


def _pruner(on, rate) -> _Quantizer | None:
    return (lambda x, kept: F.prune(x, rate=rate, outputs=[kept])) if on else None


@parametric_function_api("pruned_affine", _DENSE)
def pruned_affine(
    inp,
    n_outmaps,
    base_axis=1,
    w_init=None,
    b_init=None,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    prune_w=True,
    rate_w=0.9,
    prune_b=True,
    rate_b=0.9,
):
    """`affine` with the share `rate_*` of weights and bias, the smallest in magnitude, taken as 0.

    ``prune_w=False`` and ``prune_b=False`` leave them as they are. Other arguments as in `affine`.
    """
    prune_w, prune_b = _pruner(prune_w, rate_w), _pruner(prune_b, rate_b)
    return _affine(
        "pruned_affine", inp, n_outmaps, base_axis, w_init, b_init, fix_parameters, rng, with_bias, prune_w, prune_b
    )


@parametric_function_api("pruned_conv", _FILTERS)
def pruned_convolution(
    inp,
    outmaps,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    channel_last=False,
    w_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    prune_w=True,
    rate_w=0.9,
    prune_b=True,
    rate_b=0.9,
):
    """`convolution` with filters and bias pruned as in `pruned_affine`."""
    geometry = (base_axis, pad, stride, dilation, group, channel_last)
    prune_w, prune_b = _pruner(prune_w, rate_w), _pruner(prune_b, rate_b)
    return _convolution(
        "pruned_convolution",
        inp,
        outmaps,
        kernel,
        geometry,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        prune_w,
        prune_b,
    )


def _level(name, x, level):
    if not isinstance(level, (int, float)):
        return level
    shape = (1,) * x.ndim
    return get_parameter_or_create(name, shape, np.full(shape, level), False, False)


@parametric_function_api(
    "min_max_quantize",
    [
        ("qr_min", "lower end of the range", "ql_min.shape", False),
        ("qr_max", "upper end", "ql_max.shape", False),
    ],
)
def min_max_quantize(
    x,
    ql_min=0,
    ql_max=255,
    decay=0.999,
    x_min_max=False,
    ema=False,
    ste_fine_grained=True,
    eps=0.01,
    qr_min_init=None,
    qr_max_init=None,
    fix_parameters=False,
    outputs=None,
):
    """`x` rounded to the levels that the integers from `ql_min` to `ql_max` divide a range into.

    The range is trained; or with `x_min_max` that of `x`; or with `ema` too its moving average at `decay`. It
    starts as (-6, 6) unless `qr_min_init` and `qr_max_init` say otherwise and spans `eps` at least.
    `ste_fine_grained` lets no gradient through outside. Levels that are numbers become the parameters
    ``ql_min`` and ``ql_max``; Variables are taken as they are. Jacob et al. 2017,
    https://arxiv.org/abs/1712.05877.
    """
    ql_min = _level("ql_min", x, ql_min)
    ql_max = _level("ql_max", x, ql_max)
    trained = not (x_min_max and ema)
    low = ConstantInitializer(-6.0) if qr_min_init is None else qr_min_init
    high = ConstantInitializer(6.0) if qr_max_init is None else qr_max_init
    qr_min = get_parameter_or_create("qr_min", ql_min.shape, low, trained, not fix_parameters)
    qr_max = get_parameter_or_create("qr_max", ql_min.shape, high, trained, not fix_parameters)
    return F.min_max_quantize(
        x, qr_min, qr_max, ql_min, ql_max, decay, x_min_max, ema, ste_fine_grained, eps, outputs=outputs
    )


def _min_max(letter, on, levels, x_min_max, range_init, limit, ste_fine_grained, eps, fix) -> _Quantizer | None:
    if not on:
        return None
    low, high = range_init
    return lambda x, kept: min_max_quantize(
        x,
        *levels,
        0.999,
        x_min_max,
        False,
        ste_fine_grained,
        eps,
        ConstantInitializer(-limit) if low is None else low,
        ConstantInitializer(limit) if high is None else high,
        fix,
        outputs=[kept],
        name=f"min_max_quantize_{letter}",
    )


_RANGES = [
    ("min_max_quantize_*/min_max_quantize/qr_min", "lower end of the range of W or b", "(1, ...)", True),
    ("min_max_quantize_*/min_max_quantize/qr_max", "upper end of the range of W or b", "(1, ...)", True),
]


@parametric_function_api("min_max_quantized_affine", _DENSE + _RANGES)
def min_max_quantized_affine(
    inp,
    n_outmaps,
    base_axis=1,
    w_init=None,
    b_init=None,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    quantize_w=True,
    ql_min_w=0,
    ql_max_w=255,
    w_min_max=False,
    qr_min_w_init=None,
    qr_max_w_init=None,
    ste_fine_grained_w=True,
    quantize_b=True,
    ql_min_b=0,
    ql_max_b=255,
    b_min_max=False,
    qr_min_b_init=None,
    qr_max_b_init=None,
    ste_fine_grained_b=True,
    eps=0.01,
):
    """`affine` with weights and bias quantized by `min_max_quantize`.

    Their ranges start as (-2, 2) and (-6, 6). ``quantize_w=False`` and ``quantize_b=False`` leave them as
    they are; `w_min_max` and `b_min_max` take their own ranges. Other arguments as in `affine` and
    `min_max_quantize`.
    """
    quantize_w = _min_max(
        "w",
        quantize_w,
        (ql_min_w, ql_max_w),
        w_min_max,
        (qr_min_w_init, qr_max_w_init),
        2.0,
        ste_fine_grained_w,
        eps,
        fix_parameters,
    )
    quantize_b = _min_max(
        "b",
        quantize_b,
        (ql_min_b, ql_max_b),
        b_min_max,
        (qr_min_b_init, qr_max_b_init),
        6.0,
        ste_fine_grained_b,
        eps,
        fix_parameters,
    )
    return _affine(
        "min_max_quantized_affine",
        inp,
        n_outmaps,
        base_axis,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )


@parametric_function_api("min_max_quantized_conv", _FILTERS + _RANGES)
def min_max_quantized_convolution(
    inp,
    outmaps,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    channel_last=False,
    w_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    quantize_w=True,
    ql_min_w=0,
    ql_max_w=255,
    w_min_max=False,
    qr_min_w_init=None,
    qr_max_w_init=None,
    ste_fine_grained_w=True,
    quantize_b=True,
    ql_min_b=0,
    ql_max_b=255,
    b_min_max=False,
    qr_min_b_init=None,
    qr_max_b_init=None,
    ste_fine_grained_b=True,
    eps=0.01,
):
    """`convolution` with filters and bias quantized as in `min_max_quantized_affine`."""
    geometry = (base_axis, pad, stride, dilation, group, channel_last)
    quantize_w = _min_max(
        "w",
        quantize_w,
        (ql_min_w, ql_max_w),
        w_min_max,
        (qr_min_w_init, qr_max_w_init),
        2.0,
        ste_fine_grained_w,
        eps,
        fix_parameters,
    )
    quantize_b = _min_max(
        "b",
        quantize_b,
        (ql_min_b, ql_max_b),
        b_min_max,
        (qr_min_b_init, qr_max_b_init),
        6.0,
        ste_fine_grained_b,
        eps,
        fix_parameters,
    )
    return _convolution(
        "min_max_quantized_convolution",
        inp,
        outmaps,
        kernel,
        geometry,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )
