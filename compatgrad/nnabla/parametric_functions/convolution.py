"""Convolutions and deconvolutions."""

from __future__ import annotations

import numpy as np

from .. import functions as F
from ..initializer import ConstantInitializer
from ..parameter import get_parameter_or_create
from ._api import parametric_function_api
from ._common import applied, axis_size, bias, decomposed, filter_shapes, glorot, sampled, weight
from .affine import _check_rank

__all__ = [
    "binary_connect_convolution",
    "binary_weight_convolution",
    "convolution",
    "cpd3_convolution",
    "deconvolution",
    "deformable_convolution",
    "depthwise_convolution",
    "depthwise_deconvolution",
    "inq_convolution",
    "svd_convolution",
]

_BIAS = [("b", "bias", "(outmaps,)", True)]
_FILTERS = [("W", "filters", "(outmaps, inmaps // group, *kernel)", True)]


def _filters(function, inp, outmaps, kernel, group, channel_last, base_axis, init, fix, rng):
    channels, one = filter_shapes(function, inp, kernel, group, channel_last, base_axis)
    return weight("W", (outmaps, *one), glorot(rng, channels, outmaps, kernel) if init is None else init, fix)


@parametric_function_api("conv", _FILTERS + _BIAS)
def convolution(
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
    apply_w=None,
    apply_b=None,
):
    """N-D convolution of `inp` with `outmaps` filters of the spatial shape `kernel`, plus a bias.

    `pad`, `stride` and `dilation` have one int per spatial axis, None stands for 0, 1 and 1. `channel_last`
    means that channels are the last axis, of the filters too. `w_init` (Glorot's uniform by default) and
    `b_init` (zeros) are initializers or arrays, `rng` the random state of the default; `apply_w` and
    `apply_b` are functions applied to the parameters. Axes before `base_axis` are samples. `fix_parameters`
    keeps gradients from the parameters.
    """
    w = _filters("convolution", inp, outmaps, kernel, group, channel_last, base_axis, w_init, fix_parameters, rng)
    w = applied(apply_w, w)
    b = applied(apply_b, bias((outmaps,), b_init, fix_parameters, with_bias))
    return F.convolution(inp, w, b, base_axis, pad, stride, dilation, group, channel_last)


@parametric_function_api("deformable_conv", _FILTERS + _BIAS)
def deformable_convolution(
    inp,
    outmaps,
    kernel,
    offset,
    mask=None,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    deformable_group=1,
    channel_last=False,
    w_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    apply_w=None,
    apply_b=None,
):
    """2-D convolution whose kernel points are moved by `offset` and weighted by `mask`.

    They differ between `deformable_group` groups of channels. Other arguments as in `convolution`. Zhu et al.
    2018, https://arxiv.org/abs/1811.11168.
    """
    w = _filters(
        "deformable_convolution", inp, outmaps, kernel, group, channel_last, base_axis, w_init, fix_parameters, rng
    )
    w = applied(apply_w, w)
    b = applied(apply_b, bias((outmaps,), b_init, fix_parameters, with_bias))
    return F.deformable_convolution(
        inp, w, offset, mask, b, base_axis, pad, stride, dilation, group, deformable_group, channel_last
    )


@parametric_function_api(
    "depthwise_conv",
    [("W", "filters", "(inmaps * multiplier, *kernel)", True), ("b", "bias", "(inmaps * multiplier,)", True)],
)
def depthwise_convolution(
    inp,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    multiplier=1,
    w_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Convolution of every channel for itself, with `multiplier` filters each.

    Other arguments as in `convolution`. Chollet 2017, https://arxiv.org/abs/1610.02357.
    """
    channels = axis_size("depthwise_convolution", inp, "base_axis", base_axis)
    outmaps = channels * multiplier
    init = glorot(rng, outmaps, channels, kernel) if w_init is None else w_init
    w = weight("W", (outmaps, *kernel), init, fix_parameters)
    b = bias((outmaps,), b_init, fix_parameters, with_bias)
    return F.depthwise_convolution(inp, w, b, base_axis, pad, stride, dilation, multiplier)


@parametric_function_api("deconv", [("W", "filters", "(inmaps, outmaps // group, *kernel)", True)] + _BIAS)
def deconvolution(
    inp,
    outmaps,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    channel_last=False,
    output_padding=None,
    w_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    apply_w=None,
    apply_b=None,
):
    """Transposed convolution to `outmaps` channels; `output_padding` enlarges the output on one side.

    Other arguments as in `convolution`.
    """
    channels = axis_size("deconvolution", inp, "base_axis", -1 if channel_last else base_axis)
    outs = outmaps // group
    shape = (channels, *kernel, outs) if channel_last else (channels, outs, *kernel)
    w = weight("W", shape, glorot(rng, outmaps, channels, kernel) if w_init is None else w_init, fix_parameters)
    w = applied(apply_w, w)
    b = applied(apply_b, bias((outmaps,), b_init, fix_parameters, with_bias))
    return F.deconvolution(inp, w, b, base_axis, pad, stride, dilation, group, channel_last, output_padding)


@parametric_function_api(
    "depthwise_deconv",
    [("W", "filters", "(inmaps, *kernel)", True), ("b", "bias", "(inmaps // divisor,)", True)],
)
def depthwise_deconvolution(
    inp,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    divisor=1,
    w_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Transposed depthwise convolution, which adds up every `divisor` channels to one.

    Other arguments as in `convolution`.
    """
    channels = axis_size("depthwise_deconvolution", inp, "base_axis", base_axis)
    init = glorot(rng, channels, channels, kernel) if w_init is None else w_init
    w = weight("W", (channels, *kernel), init, fix_parameters)
    b = bias((channels // divisor,), b_init, fix_parameters, with_bias)
    return F.depthwise_deconvolution(inp, w, b, base_axis, pad, stride, dilation, divisor)


@parametric_function_api(
    "svd_conv",
    [("U", "depthwise filters", "(inmaps * r, *kernel)", True)]
    + [("V", "pointwise filters", "(outmaps, inmaps * r, 1, ...)", True)]
    + _BIAS,
)
def svd_convolution(
    inp,
    outmaps,
    kernel,
    r,
    pad=None,
    stride=None,
    dilation=None,
    uv_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Convolution whose filters have rank `r` for each input channel: a depthwise one, then a pointwise one.

    They start as the best approximation of `uv_init`, an array of the filters (outmaps, inmaps, *kernel) or
    an initializer of them, unless they exist. Other arguments as in `convolution`. ValueError for `r` below
    1.
    """
    _check_rank("svd_convolution", r)
    channels, points = axis_size("svd_convolution", inp, "base_axis", base_axis), int(np.prod(kernel))
    init = glorot(rng, channels, outmaps, kernel) if uv_init is None else uv_init
    start = sampled(init, (outmaps, channels, *kernel)).reshape(outmaps, channels, points)

    def factors():
        left, values, right = np.linalg.svd(start.transpose(1, 2, 0), full_matrices=False)
        # a rank above the full one leaves the rest of the filters 0
        u, v = np.zeros((channels, r, points)), np.zeros((channels, r, outmaps))
        rank = min(r, values.shape[1])
        u[:, :rank] = (left * values[:, None]).transpose(0, 2, 1)[:, :rank]
        v[:, :rank] = right[:, :rank]
        ones = (1,) * len(kernel)
        return u.reshape(channels * r, *kernel), v.transpose(2, 0, 1).reshape(outmaps, channels * r, *ones)

    u, v = decomposed(["U", "V"], factors, fix_parameters)
    b = bias((outmaps,), b_init, fix_parameters, with_bias)
    y = F.depthwise_convolution(
        inp, u, bias=None, base_axis=base_axis, pad=pad, stride=stride, dilation=dilation, multiplier=r
    )
    return F.convolution(y, v, bias=b, base_axis=base_axis)


@parametric_function_api(
    "cpd3_conv",
    [
        ("I", "pointwise filters in front", "(r, inmaps, 1, ...)", True),
        ("K", "depthwise filters", "(r, *kernel)", True),
    ]
    + [("O", "pointwise filters behind", "(outmaps, r, 1, ...)", True)]
    + _BIAS,
)
def cpd3_convolution(
    inp,
    outmaps,
    kernel,
    r,
    pad=None,
    stride=None,
    dilation=None,
    oik_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    max_iter=500,
    stopping_criterion=1e-5,
    lambda_reg=0.0,
):
    """Convolution whose filters are a sum of `r` products of input, kernel and output vectors.

    They start as an approximation of `oik_init`, an array of the filters (outmaps, inmaps, *kernel) or an
    initializer of them, unless they exist; `max_iter`, `stopping_criterion` and `lambda_reg` steer the
    alternating least squares that find it. Other arguments as in `convolution`. ValueError for `r` below 1.
    Lebedev et al. 2015, https://arxiv.org/abs/1412.6553.
    """
    channels, points = axis_size("cpd3_convolution", inp, "base_axis", base_axis), int(np.prod(kernel))
    init = glorot(rng, channels, outmaps, kernel) if oik_init is None else oik_init
    start = sampled(init, (outmaps, channels, *kernel)).reshape(outmaps, channels, points)

    def factors():
        from ..utils.factorization.cpd import ALS

        _check_rank("cpd3_convolution", r)
        (o, i, k), scale = ALS().solve(start, r, max_iter, stopping_criterion, lambda_reg, dtype=start.dtype, rng=rng)
        ones = (1,) * len(kernel)
        return (
            i.T.reshape(r, channels, *ones),
            (o * scale).reshape(outmaps, r, *ones),
            k.T.reshape(r, *kernel),
        )

    i, o, k = decomposed(["I", "O", "K"], factors, fix_parameters)
    b = bias((outmaps,), b_init, fix_parameters, with_bias)
    y = F.convolution(inp, i, bias=None, base_axis=base_axis)
    y = F.depthwise_convolution(
        y, k, bias=None, base_axis=base_axis, pad=pad, stride=stride, dilation=dilation, multiplier=1
    )
    return F.convolution(y, o, bias=b, base_axis=base_axis)


_BINARY = [("W", "filters", "(outmaps, inmaps // group, *kernel)", True)]
_BINARY += [("Wb", "binary filters", "(outmaps, inmaps // group, *kernel)", False)]


def _binary(function, inp, outmaps, kernel, group, base_axis, w_init, wb_init, fix, rng):
    channels = axis_size(function, inp, "base_axis", base_axis)
    shape = (outmaps, channels // group, *kernel)
    w = weight("W", shape, glorot(rng, channels, outmaps, kernel) if w_init is None else w_init, fix)
    wb_init = glorot(rng, channels, outmaps, kernel) if wb_init is None else wb_init
    return w, get_parameter_or_create("Wb", shape, wb_init, False)


@parametric_function_api("bicon_conv", _BINARY + _BIAS)
def binary_connect_convolution(
    inp,
    outmaps,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    quantize_zero_to=1.0,
    w_init=None,
    wb_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Convolution with the signs of its filters, which forward writes to the parameter ``Wb``.

    0 counts as `quantize_zero_to`. Other arguments as in `convolution`. Courbariaux et al. 2015,
    BinaryConnect.
    """
    w, wb = _binary(
        "binary_connect_convolution", inp, outmaps, kernel, group, base_axis, w_init, wb_init, fix_parameters, rng
    )
    b = bias((outmaps,), b_init, fix_parameters, with_bias)
    return F.binary_connect_convolution(inp, w, wb, b, base_axis, pad, stride, dilation, group, quantize_zero_to)


@parametric_function_api("bwn_conv", _BINARY + [("alpha", "scales", "(outmaps,)", False)] + _BIAS)
def binary_weight_convolution(
    inp,
    outmaps,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    quantize_zero_to=1.0,
    w_init=None,
    wb_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Convolution with the signs of its filters times one scale per filter.

    Forward writes the signs to the parameter ``Wb`` and the scales, mean magnitudes, to ``alpha``. 0 counts
    as `quantize_zero_to`. Other arguments as in `convolution`. Rastegari et al. 2016, XNOR-Net.
    """
    w, wb = _binary(
        "binary_weight_convolution", inp, outmaps, kernel, group, base_axis, w_init, wb_init, fix_parameters, rng
    )
    alpha = get_parameter_or_create("alpha", (outmaps,), ConstantInitializer(0), False)
    b = bias((outmaps,), b_init, fix_parameters, with_bias)
    return F.binary_weight_convolution(inp, w, wb, alpha, b, base_axis, pad, stride, dilation, group, quantize_zero_to)


@parametric_function_api(
    "inq_conv",
    [("W", "filters", "(outmaps, inmaps // group, *kernel)", True)]
    + [("I", "1 where a weight is fixed", "(outmaps, inmaps // group, *kernel)", False)]
    + _BIAS,
)
def inq_convolution(
    inp,
    outmaps,
    kernel,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    num_bits=4,
    inq_iterations=(),
    selection_algorithm="random",
    seed=-1,
    w_init=None,
    i_init=None,
    b_init=None,
    base_axis=1,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Convolution whose filters become powers of two, half of the rest at each iteration of `inq_iterations`.

    `num_bits` holds one for the sign; `selection_algorithm` is "random" or "largest_abs". Other arguments as
    in `convolution`. Zhou et al. 2017, Incremental Network Quantization.
    """
    channels = axis_size("inq_convolution", inp, "base_axis", base_axis)
    shape = (outmaps, channels // group, *kernel)
    init = glorot(rng, channels, outmaps, kernel) if w_init is None else w_init
    w = weight("W", shape, init, fix_parameters)
    fixed = get_parameter_or_create("I", shape, ConstantInitializer() if i_init is None else i_init, False)
    b = bias((outmaps,), b_init, fix_parameters, with_bias)
    return F.inq_convolution(
        inp,
        w,
        fixed,
        b,
        base_axis,
        pad,
        stride,
        dilation,
        group,
        num_bits,
        inq_iterations,
        selection_algorithm,
        seed,
    )
