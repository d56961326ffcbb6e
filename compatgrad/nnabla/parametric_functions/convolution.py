"""Convolutions and deconvolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import functions as F
from ..functions._images import CONVOLUTION
from ..functions.binary import BINARY, INCREMENTAL
from ..initializer import ConstantInitializer
from ..parameter import get_parameter_or_create
from ._api import layer
from ._common import FILTERS, applied, axis_size, bias, decomposed, filter_shapes, glorot, kernel_sizes, sampled, weight
from .affine import _check_rank

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array, Initializer
    from compatgrad.nnabla.variable import Variable

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

# The shared sections of docstrings: of low-rank filters, and of filters of two values or powers of two, which have
# those of `functions`.
_RANK = """
Args:
    uv_init: the filters (outmaps, inmaps, *kernel) that the initial factors approximate, an initializer or an array;
        None: UniformInitializer with Glorot's limits.
    oik_init: the filters (outmaps, inmaps, *kernel) that the initial factors approximate, an initializer or an array;
        None: UniformInitializer with Glorot's limits.
    r: the rank.

Raises:
    RuntimeError: the shapes do not fit.
    TypeError: `inp` is neither a Variable nor an NdArray, or `kernel` is a single number.
    ValueError: `r` is less than 1, `inp` does not have the axis, or a parameter exists with another shape.
"""

_BIAS = [("b", "bias", "(outmaps,)", True)]
_FILTERS = [("W", "filters", "(outmaps, inmaps // group, *kernel)", True)]


def _filters(function, inp, outmaps, kernel, group, channel_last, base_axis, init, fix, rng):
    channels, one = filter_shapes(function, inp, kernel, group, channel_last, base_axis)
    return weight("W", (outmaps, *one), init, fix, glorot, rng, channels, outmaps, kernel)


@layer("conv", _FILTERS + _BIAS, FILTERS, CONVOLUTION)
def convolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    channel_last: bool = False,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    apply_w: Callable[[Variable], Variable] | None = None,
    apply_b: Callable[[Variable], Variable] | None = None,
) -> Array:
    """A convolution with learned filters, and optionally a bias.

    Example:
        >>> y = PF.convolution(nn.Variable((2, 3, 8, 8)), 16, (3, 3), pad=(1, 1), stride=(2, 2))
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((2, 16, 4, 4), {'conv/W': (16, 3, 3, 3), 'conv/b': (16,)})
    """
    w = _filters("convolution", inp, outmaps, kernel, group, channel_last, base_axis, w_init, fix_parameters, rng)
    w = applied(apply_w, w)
    b = applied(apply_b, bias((outmaps,), b_init, fix_parameters, with_bias))
    return F.convolution(inp, w, b, base_axis, pad, stride, dilation, group, channel_last)


@layer("deformable_conv", _FILTERS + _BIAS, FILTERS, CONVOLUTION)
def deformable_convolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    offset: Array,
    mask: Array | None = None,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    deformable_group: int = 1,
    channel_last: bool = False,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    apply_w: Callable[[Variable], Variable] | None = None,
    apply_b: Callable[[Variable], Variable] | None = None,
) -> Array:
    """A deformable convolution: each pixel is read at a position that an input displaces (Dai et al., 2017; Zhu et al.,
    2018).

    Args:
        inp: images (batch, channels, height, width), computed in float32.
        offset: the displacements, (batch, deformable_group * kh * kw * 2, height, width), rows before columns.
        mask: the factors of the pixels, (batch, deformable_group * kh * kw, height, width).
        base_axis: the axis of the channels: 1 or -3.
        deformable_group: number of groups of channels, each with its own displacements.

    Example:
        >>> x, offset = nn.Variable((2, 3, 8, 8)), nn.Variable((2, 18, 8, 8))
        >>> PF.deformable_convolution(x, 4, (3, 3), offset, pad=(1, 1)).shape
        (2, 4, 8, 8)
    """
    w = _filters(
        "deformable_convolution", inp, outmaps, kernel, group, channel_last, base_axis, w_init, fix_parameters, rng
    )
    w = applied(apply_w, w)
    b = applied(apply_b, bias((outmaps,), b_init, fix_parameters, with_bias))
    return F.deformable_convolution(
        inp, w, offset, mask, b, base_axis, pad, stride, dilation, group, deformable_group, channel_last
    )


@layer(
    "depthwise_conv",
    [("W", "filters", "(inmaps * multiplier, *kernel)", True), ("b", "bias", "(inmaps * multiplier,)", True)],
    FILTERS,
    CONVOLUTION,
)
def depthwise_convolution(
    inp: Array,
    kernel: Sequence[int],
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    multiplier: int = 1,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A depthwise convolution: each channel is convolved with its own filters (Chollet, 2017).

    Args:
        multiplier: the number of filters of each channel.

    Returns:
        Array (*samples, channels * multiplier, *positions).

    Example:
        >>> y = PF.depthwise_convolution(nn.Variable((2, 3, 8, 8)), (3, 3), multiplier=2)
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((2, 6, 6, 6), {'depthwise_conv/W': (6, 3, 3), 'depthwise_conv/b': (6,)})
    """
    channels = axis_size("depthwise_convolution", inp, "base_axis", base_axis)
    kernel = kernel_sizes("depthwise_convolution", kernel)
    outmaps = channels * multiplier
    w = weight("W", (outmaps, *kernel), w_init, fix_parameters, glorot, rng, outmaps, channels, kernel)
    b = bias((outmaps,), b_init, fix_parameters, with_bias)
    return F.depthwise_convolution(inp, w, b, base_axis, pad, stride, dilation, multiplier)


@layer("deconv", [("W", "filters", "(inmaps, outmaps // group, *kernel)", True)] + _BIAS, FILTERS, CONVOLUTION)
def deconvolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    channel_last: bool = False,
    output_padding: Sequence[int] | None = None,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    apply_w: Callable[[Variable], Variable] | None = None,
    apply_b: Callable[[Variable], Variable] | None = None,
) -> Array:
    """A transposed convolution: the gradient of a convolution with respect to its image.

    Args:
        pad: number of pixels cut off the result at both ends of each spatial axis; None: 0.
        stride: the distance between neighbouring filters in the result along each spatial axis; None: 1.
        output_padding: number of additional pixels at the end of each spatial axis of the result, less than `stride`;
            None: 0.

    Returns:
        Array (*samples, outmaps, *size'), size' being stride * (size - 1) + dilation * (kernel - 1) + 1 - 2 * pad +
        output_padding.

    Example:
        >>> y = PF.deconvolution(nn.Variable((2, 3, 4, 4)), 8, (2, 2), stride=(2, 2))
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((2, 8, 8, 8), {'deconv/W': (3, 8, 2, 2), 'deconv/b': (8,)})
    """
    channels = axis_size("deconvolution", inp, "base_axis", -1 if channel_last else base_axis)
    kernel = kernel_sizes("deconvolution", kernel)
    outs = outmaps // group
    shape = (channels, *kernel, outs) if channel_last else (channels, outs, *kernel)
    w = weight("W", shape, w_init, fix_parameters, glorot, rng, outmaps, channels, kernel)
    w = applied(apply_w, w)
    b = applied(apply_b, bias((outmaps,), b_init, fix_parameters, with_bias))
    return F.deconvolution(inp, w, b, base_axis, pad, stride, dilation, group, channel_last, output_padding)


@layer(
    "depthwise_deconv",
    [("W", "filters", "(inmaps, *kernel)", True), ("b", "bias", "(inmaps // divisor,)", True)],
    FILTERS,
    CONVOLUTION,
)
def depthwise_deconvolution(
    inp: Array,
    kernel: Sequence[int],
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    divisor: int = 1,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A transposed depthwise convolution, in which groups of neighbouring channels are summed.

    Args:
        pad: number of pixels cut off the result at both ends of each spatial axis; None: 0.
        stride: the distance between neighbouring filters in the result along each spatial axis; None: 1.
        divisor: number of neighbouring channels that are summed to one.

    Returns:
        Array (*samples, channels / divisor, *size'), size' as of `deconvolution`.

    Example:
        >>> PF.depthwise_deconvolution(nn.Variable((2, 4, 4, 4)), (2, 2), stride=(2, 2), divisor=2).shape
        (2, 2, 8, 8)
    """
    channels = axis_size("depthwise_deconvolution", inp, "base_axis", base_axis)
    if divisor < 1:
        raise ValueError(f"depthwise_deconvolution: divisor must be positive, not {divisor}")
    kernel = kernel_sizes("depthwise_deconvolution", kernel)
    w = weight("W", (channels, *kernel), w_init, fix_parameters, glorot, rng, channels, channels, kernel)
    b = bias((channels // divisor,), b_init, fix_parameters, with_bias)
    return F.depthwise_deconvolution(inp, w, b, base_axis, pad, stride, dilation, divisor)


@layer(
    "svd_conv",
    [("U", "depthwise filters", "(inmaps * r, *kernel)", True)]
    + [("V", "pointwise filters", "(outmaps, inmaps * r, 1, ...)", True)]
    + _BIAS,
    _RANK,
    FILTERS,
    CONVOLUTION,
)
def svd_convolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    r: int,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    uv_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A convolution whose filters have a low rank for each channel: a depthwise convolution followed by a pointwise
    one.

    Example:
        >>> y = PF.svd_convolution(nn.Variable((2, 3, 8, 8)), 4, (3, 3), r=2)
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((2, 4, 6, 6), {'svd_conv/U': (6, 3, 3), 'svd_conv/V': (4, 6, 1, 1), 'svd_conv/b': (4,)})
    """
    _check_rank("svd_convolution", r)
    channels, kernel = (
        axis_size("svd_convolution", inp, "base_axis", base_axis),
        kernel_sizes("svd_convolution", kernel),
    )
    points = int(np.prod(kernel))
    init = glorot(rng, channels, outmaps, kernel) if uv_init is None else uv_init
    start = sampled(init, (outmaps, channels, *kernel)).reshape(outmaps, channels, points)

    def factors():
        left, values, right = np.linalg.svd(start.transpose(1, 2, 0), full_matrices=False)
        # filters beyond the full rank are 0
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


@layer(
    "cpd3_conv",
    [
        ("I", "pointwise filters of the first convolution", "(r, inmaps, 1, ...)", True),
        ("K", "depthwise filters", "(r, *kernel)", True),
    ]
    + [("O", "pointwise filters of the last convolution", "(outmaps, r, 1, ...)", True)]
    + _BIAS,
    _RANK,
    FILTERS,
    CONVOLUTION,
)
def cpd3_convolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    r: int,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    oik_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    max_iter: int = 500,
    stopping_criterion: float = 1e-05,
    lambda_reg: float = 0.0,
) -> Array:
    """A convolution whose filters are a sum of products of vectors of channels, kernel and maps (Lebedev et al., 2015).

    Args:
        r: the rank: the number of products.
        max_iter: maximum number of iterations of alternating least squares, which computes the factors of the filters.
        stopping_criterion: the iteration ends when the error changes by less than this.
        lambda_reg: the strength of the regularization of the factors.

    Example:
        >>> y = PF.cpd3_convolution(nn.Variable((2, 3, 8, 8)), 4, (3, 3), r=2, with_bias=False)
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((2, 4, 6, 6), {'cpd3_conv/I': (2, 3, 1, 1), 'cpd3_conv/O': (4, 2, 1, 1), 'cpd3_conv/K': (2, 3, 3)})
    """
    channels, kernel = (
        axis_size("cpd3_convolution", inp, "base_axis", base_axis),
        kernel_sizes("cpd3_convolution", kernel),
    )
    points = int(np.prod(kernel))
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
    channels, kernel = axis_size(function, inp, "base_axis", base_axis), kernel_sizes(function, kernel)
    shape = (outmaps, channels // group, *kernel)
    w = weight("W", shape, w_init, fix, glorot, rng, channels, outmaps, kernel)
    wb_init = glorot(rng, channels, outmaps, kernel) if wb_init is None else wb_init
    return w, get_parameter_or_create("Wb", shape, wb_init, False)


@layer("bicon_conv", _BINARY + _BIAS, BINARY, FILTERS, CONVOLUTION)
def binary_connect_convolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    quantize_zero_to: float = 1.0,
    w_init: Initializer | None = None,
    wb_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A convolution that uses the signs of its filters (Courbariaux et al., 2015).

    Each forward pass writes the signs into the parameter `Wb`.

    Args:
        wb_init: initializer of `Wb`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.ones((1, 1, 2)))
        >>> y = PF.binary_connect_convolution(x, 1, (2,), w_init=np.array([[[0.3, 0.1]]]))
        >>> y.forward()
        >>> y.d
        array([[[2.]]], dtype=float32)
    """
    w, wb = _binary(
        "binary_connect_convolution", inp, outmaps, kernel, group, base_axis, w_init, wb_init, fix_parameters, rng
    )
    b = bias((outmaps,), b_init, fix_parameters, with_bias)
    return F.binary_connect_convolution(inp, w, wb, b, base_axis, pad, stride, dilation, group, quantize_zero_to)


@layer("bwn_conv", _BINARY + [("alpha", "scales", "(outmaps,)", False)] + _BIAS, BINARY, FILTERS, CONVOLUTION)
def binary_weight_convolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    quantize_zero_to: float = 1.0,
    w_init: Initializer | None = None,
    wb_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A convolution that uses the signs of its filters, multiplied by their mean magnitude (Rastegari et al., 2016).

    Each forward pass writes the signs into the parameter `Wb` and the magnitudes into `alpha`.

    Args:
        wb_init: initializer of `Wb`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.ones((1, 1, 2)))
        >>> y = PF.binary_weight_convolution(x, 1, (2,), w_init=np.array([[[0.3, 0.1]]]))
        >>> y.forward()
        >>> y.d
        array([[[0.4]]], dtype=float32)
    """
    w, wb = _binary(
        "binary_weight_convolution", inp, outmaps, kernel, group, base_axis, w_init, wb_init, fix_parameters, rng
    )
    alpha = get_parameter_or_create("alpha", (outmaps,), ConstantInitializer(0), False)
    b = bias((outmaps,), b_init, fix_parameters, with_bias)
    return F.binary_weight_convolution(inp, w, wb, alpha, b, base_axis, pad, stride, dilation, group, quantize_zero_to)


@layer(
    "inq_conv",
    [("W", "filters", "(outmaps, inmaps // group, *kernel)", True)]
    + [("I", "1 where a weight is fixed", "(outmaps, inmaps // group, *kernel)", False)]
    + _BIAS,
    INCREMENTAL,
    FILTERS,
    CONVOLUTION,
)
def inq_convolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    num_bits: int = 4,
    inq_iterations: Sequence[int] = (),
    selection_algorithm: str = "random",
    seed: int = -1,
    w_init: Initializer | None = None,
    i_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A convolution whose filters become powers of two, or 0, step by step (Zhou et al., 2017).

    Args:
        i_init: the initial value of the parameter `I`; None: zeros.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.ones((1, 1, 2)))
        >>> y = PF.inq_convolution(x, 1, (2,), inq_iterations=(0,), w_init=np.array([[[0.6, 0.1]]]))
        >>> y.forward()
        >>> y.d
        array([[[0.625]]], dtype=float32)
    """
    channels, kernel = (
        axis_size("inq_convolution", inp, "base_axis", base_axis),
        kernel_sizes("inq_convolution", kernel),
    )
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
