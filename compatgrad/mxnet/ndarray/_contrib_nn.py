"""Operators of `mx.nd.contrib` for networks: resizing, pooling, attention; `contrib` exports them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from compatgrad.core.kept_tensors import keep

from ..base import MXNetError
from ._arguments import (
    as_ints,
    check_bias,
    check_reach,
    one_of,
    pair,
    public_names,
    require_ndim,
    require_shape,
    required,
    slices,
)
from ._operator import op, operator
from ._regions import bins_of, check_regions, rounded
from .ndarray import NDArray

# ---- images ----------------------------------------------------------------------------------------------------------
_SIZES: dict[str, Callable[[int], int]] = {
    "to_even_down": lambda n: n - n % 2, "to_even_up": lambda n: n + n % 2,
    "to_odd_down": lambda n: n - 1 + n % 2, "to_odd_up": lambda n: n + 1 - n % 2,
}  # fmt: skip


@operator("data, like? if mode=like", name="_contrib_BilinearResize2D")
def bilinear_resize_2d(
    data, like=None, height=1, width=1, scale_height=None, scale_width=None, mode="size", align_corners=True
):
    """Resizes images (batch, channels, height, width) with bilinear interpolation.

    `mode` determines the new size. "size": (height, width), or the old size times scale_height and scale_width; "like":
    the size of a second image; "odd_scale": the scaled size, but (n - 1) * scale + 1 for odd n; "to_even_down",
    "to_even_up", "to_odd_down" and "to_odd_up": the nearest such size. `align_corners`: the centres of corner pixels
    coincide, else the corners of the images. MXNetError if arguments do not fit.

    Args:
        data: floating point, shape (batch, channels, height, width).
        mode: how the result's size is computed: "size", "odd_scale", "like", "to_even_down", "to_even_up",
            "to_odd_down" or "to_odd_up".

    Example:
        >>> nd.contrib.BilinearResize2D(nd.array([[[[0.0, 1.0]]]]), height=1, width=3).asnumpy()
        array([[[[0. , 0.5, 1. ]]]], dtype=float32)
    """
    name = "BilinearResize2D"
    require_ndim(name, "data", data, 4)
    one_of(name, "mode", mode, ("size", "like", "odd_scale", *_SIZES))
    if (mode == "like") != (like is not None):
        raise MXNetError(f"{name}: like must be given exactly with mode='like', got mode={mode!r}")
    old = data.shape[2:]
    if mode == "like":
        size = tuple(like.shape[2:])
    elif mode in _SIZES:
        size = tuple(_SIZES[mode](n) for n in old)
    elif scale_height is not None or mode == "odd_scale":
        required(name, "scale_height", scale_height)
        scales = scale_height, required(name, "scale_width", scale_width)
        odd = mode == "odd_scale"
        size = tuple(int((n - 1) * s) + 1 if odd and n % 2 else int(n * s) for n, s in zip(old, scales, strict=True))
    else:
        size = height, width
    size = pair(name, "the size of the result", size)
    return op.resize(data, size=size, align_corners=align_corners)


@keep(64)
def _averages(size: int, out: int) -> torch.Tensor:
    """Weights (out, size) of adaptive means: part i is from floor(i size / out) to ceil((i + 1) size / out)."""
    w = torch.zeros(out, size, dtype=torch.float64)
    for i in range(out):
        start, end = i * size // out, -(-(i + 1) * size // out)
        w[i, start:end] = 1 / (end - start)
    return w


@operator("data", name="_contrib_AdaptiveAvgPooling2D")
def adaptive_avg_pooling_2d(data, output_size=()):
    """Adaptive average pooling: the means of output_size parts of images (batch, channels, height, width).

    output_size: (height, width), one number for both, or () for one mean per channel. MXNetError otherwise.

    Args:
        data: floating point, shape (batch, channels, height, width).

    Example:
        >>> nd.contrib.AdaptiveAvgPooling2D(nd.array([[[[1.0, 3.0], [5.0, 7.0]]]]), output_size=1).asnumpy()
        array([[[[4.]]]], dtype=float32)
    """
    name = "AdaptiveAvgPooling2D"
    require_ndim(name, "data", data, 4)
    out = tuple(as_ints(name, "output_size", output_size)) or (1, 1)
    out = pair(name, "output_size", out * 2 if len(out) == 1 else out)
    if out == (1, 1):
        return op.mean(data, axis=(2, 3), keepdims=True)
    size = data.shape[2:]
    if all(n % m == 0 for n, m in zip(size, out, strict=True)):
        kernel = tuple(n // m for n, m in zip(size, out, strict=True))
        return op.window_pooling(data, ksize=kernel, stride=kernel, divisor="padded")
    rows, columns = (_averages(n, m).to(data.tensor) for n, m in zip(size, out, strict=True))
    return op.matmul(op.matmul(NDArray(rows), data), NDArray(columns), transb=True)


@operator("data, rois", name="_contrib_ROIAlign")
def roi_align(data, rois, pooled_size=None, spatial_scale=None, sample_ratio=-1, position_sensitive=False,
              aligned=False):  # fmt: skip
    """Means of pooled_size (height, width) bins of regions of images: (regions, channels, *pooled_size).

    data: (batch, channels, height, width); rois: (regions, 5), each the number of an image, x1, y1, x2, y2, times
    `spatial_scale`. Each bin is the mean of sample_ratio ** 2 bilinear samples, or of about one for each pixel where
    sample_ratio is not positive. `aligned`: places are moved by half a pixel. Regions with a negative number of the
    image give 0; regions get no gradient. `position_sensitive`: each bin reads its own channels, so that data has
    pooled_size[0] * pooled_size[1] times as many channels. MXNetError if shapes do not fit.

    Args:
        data: floating point, shape (batch, channels, height, width).

    Example:
        >>> x = nd.arange(16).reshape((1, 1, 4, 4))
        >>> nd.contrib.ROIAlign(x, nd.array([[0, 0, 0, 2, 2]]), pooled_size=(1, 1), spatial_scale=1.0).asnumpy()
        array([[[[5.]]]], dtype=float32)
    """
    name = "ROIAlign"
    images = check_regions(name, data, rois)
    out = pair(name, "pooled_size", pooled_size)
    if position_sensitive and data.shape[1] % (out[0] * out[1]):
        raise MXNetError(f"{name}: position_sensitive=True takes a multiple of {out[0] * out[1]} channels, not "
                         f"{data.shape[1]}")  # fmt: skip
    group = out if position_sensitive else ()
    boxes = rois.tensor.detach().to(data.tensor.dtype, copy=True)
    boxes[:, 1:] *= required(name, "spatial_scale", spatial_scale)
    if not aligned:  # the kernel expects places that are moved by half a pixel
        boxes[:, 3:] = torch.maximum(boxes[:, 3:], boxes[:, 1:3] + 1)
        boxes[:, 1:] += 0.5
    none = images < 0
    boxes[none, 0] = 0
    y = op.roi_align(data, NDArray(boxes), output_size=out, sampling_ratio=sample_ratio, group=group)
    return op.dropout_mask(y, mask=(~none)[:, None, None, None].expand(y.shape)) if bool(none.any()) else y


_LAYOUTS = (None, "None", "NCHW")


def _deformable(name, data, offset, mask, weight, bias, kernel, stride, dilate, pad, num_filter, num_group,
                num_deformable_group, no_bias, layout, clamp):  # fmt: skip
    """Samples the image at the places moved by `offset` (im2col), and multiplies the columns by the weight."""
    for argument, x in (("data", data), ("offset", offset), ("weight", weight)):
        require_ndim(name, argument, x, 4)
    if layout not in _LAYOUTS:
        raise MXNetError(f"{name}: layout must be None or 'NCHW', got {layout!r}")
    kernel = pair(name, "kernel", required(name, "kernel", kernel))
    stride, dilate = (pair(name, n, tuple(v) or (1, 1)) for n, v in (("stride", stride), ("dilate", dilate)))
    pad = tuple(as_ints(name, "pad", pad)) or (0, 0)
    if len(pad) != 2 or min(pad) < 0:
        raise MXNetError(f"{name}: pad must be two numbers, none below 0, got {pad}")
    (batch, channels, *size), taps = data.shape, kernel[0] * kernel[1]
    required(name, "num_filter", num_filter)
    for what, number, parts in (("the channels of data", channels, num_group), ("num_filter", num_filter, num_group),
                                ("the channels of data", channels, num_deformable_group),
                                ("num_filter", num_filter, num_deformable_group)):  # fmt: skip
        if parts < 1 or number % parts:
            raise MXNetError(f"{name}: {what} ({number}) must be a multiple of each number of groups, not of {parts}")
    require_shape(name, "weight", weight.shape, (num_filter, channels // num_group, *kernel))
    check_bias(name, bias, no_bias, num_filter)
    check_reach(name, data, kernel, dilate, pad)
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1
           for n, p, d, k, s in zip(size, pad, dilate, kernel, stride, strict=True)]  # fmt: skip
    require_shape(name, "offset", offset.shape, (batch, num_deformable_group * taps * 2, *out))
    if mask is not None:
        require_shape(name, "mask", mask.shape, (batch, num_deformable_group * taps, *out))
    columns = op.deform_columns(data, offset, mask, ksize=kernel, stride=stride, pad=pad, dilate=dilate,
                                groups=num_deformable_group, clamp=clamp)  # fmt: skip
    weight = op.reshape(weight, shape=(num_filter, channels // num_group * taps, 1, 1))
    return op.convolution(columns, weight, bias, groups=num_group)


@operator("data, offset, weight, bias? unless no_bias", name="_contrib_DeformableConvolution")
def deformable_convolution(
    data, offset, weight, bias=None, kernel=None, stride=(), dilate=(), pad=(), num_filter=None, num_group=1,
    num_deformable_group=1, workspace=1024, no_bias=False, layout=None,
):  # fmt: skip
    """Deformable convolution of images: each element of the kernel samples the image bilinearly at its own offset.

    data: (batch, channels, height, width); offset: (batch, num_deformable_group * kh * kw * 2, *out), rows before
    columns; weight: (num_filter, channels / num_group, kh, kw); bias: (num_filter,) unless `no_bias`. Places outside
    [0, height) x [0, width) are 0, those behind the last pixel's centre are that pixel. Dai et al. 2017. MXNetError
    where anything does not fit.

    Args:
        data: floating point, shape (batch, channels, height, width).
        offset: how far each element of the kernel is moved, down and right in turn; shape (batch, 2 * groups * kernel
            height * kernel width, height, width) of the result.
        weight: shape (num_filter, channels / num_group, *kernel).

    Example:
        >>> x, w = nd.arange(4).reshape((1, 1, 2, 2)), nd.ones((1, 1, 1, 1))
        >>> offset = nd.zeros((1, 2, 2, 2))
        >>> nd.contrib.DeformableConvolution(x, offset, w, kernel=(1, 1), num_filter=1, no_bias=True).asnumpy()
        array([[[[0., 1.],
                 [2., 3.]]]], dtype=float32)
    """
    return _deformable("DeformableConvolution", data, offset, None, weight, bias, kernel, stride, dilate, pad,
                       num_filter, num_group, num_deformable_group, no_bias, layout, True)  # fmt: skip


@operator("data, offset, mask, weight, bias? unless no_bias", name="_contrib_ModulatedDeformableConvolution")
def modulated_deformable_convolution(
    data, offset, mask, weight, bias=None, kernel=None, stride=(), dilate=(), pad=(), num_filter=None, num_group=1,
    num_deformable_group=1, workspace=1024, no_bias=False, im2col_step=64, layout=None,
):  # fmt: skip
    """DeformableConvolution whose samples are multiplied by mask (batch, num_deformable_group * kh * kw, *out).

    Outside of the image are zeros, which take part in the interpolation. `im2col_step` divides the size of the batch,
    or exceeds it. Zhu et al. 2018. MXNetError if anything does not fit.

    Args:
        data: floating point, shape (batch, channels, height, width).
        offset: how far each element of the kernel is moved, down and right in turn; shape (batch, 2 * groups * kernel
            height * kernel width, height, width) of the result.
        mask: the factor of each element that is read, shape (batch, groups * kernel height * kernel width, height,
            width) of the result.
        weight: shape (num_filter, channels / num_group, *kernel).

    Example:
        >>> x, w = nd.arange(4).reshape((1, 1, 2, 2)), nd.ones((1, 1, 1, 1))
        >>> offset, mask = nd.zeros((1, 2, 2, 2)), nd.full((1, 1, 2, 2), 0.5)
        >>> layer = nd.contrib.ModulatedDeformableConvolution
        >>> layer(x, offset, mask, w, kernel=(1, 1), num_filter=1, no_bias=True).asnumpy()
        array([[[[0. , 0.5],
                 [1. , 1.5]]]], dtype=float32)
    """
    name = "ModulatedDeformableConvolution"
    require_ndim(name, "mask", mask, 4)
    if im2col_step < 1 or data.shape[0] % min(im2col_step, max(data.shape[0], 1)):
        raise MXNetError(f"{name}: im2col_step {im2col_step} must divide the batch of {data.shape[0]}, or exceed it")
    return _deformable(name, data, offset, mask, weight, bias, kernel, stride, dilate, pad, num_filter, num_group,
                       num_deformable_group, no_bias, layout, False)  # fmt: skip


@operator("data, rois", name="_contrib_PSROIPooling")
def psroi_pooling(data, rois, spatial_scale=None, output_dim=None, pooled_size=None, group_size=0):
    """Means of pooled_size ** 2 bins of regions of images, where each group of bins reads its own channels. The
    result has the shape (regions, output_dim, pooled_size, pooled_size).

    data: (batch, output_dim * group_size ** 2, height, width); a group_size of 0 is pooled_size; rois: as in
    `ROIPooling`, rounded before they are multiplied by `spatial_scale`. Empty bins, and regions with a negative number
    of the image, give 0. Regions get no gradient. MXNetError if shapes do not fit.

    Args:
        data: floating point, shape (batch, output_dim * group_size * group_size, height, width).

    Example:
        >>> x, rois = nd.ones((1, 4, 4, 4)), nd.array([[0, 0, 0, 3, 3]])
        >>> nd.contrib.PSROIPooling(x, rois, spatial_scale=1.0, output_dim=1, pooled_size=2).asnumpy()
        array([[[[1., 1.],
                 [1., 1.]]]], dtype=float32)
    """
    name = "PSROIPooling"
    images = check_regions(name, data, rois)
    out = required(name, "pooled_size", pooled_size)
    group = group_size or out
    if min(out, group) <= 0 or required(name, "output_dim", output_dim) * group**2 != data.shape[1]:
        raise MXNetError(f"{name}: expected {output_dim} * {group} ** 2 channels and positive sizes, got {data.shape}")
    edges = rounded(rois.tensor[:, 1:].to(torch.float32))
    edges[:, 2:] += 1
    left, top, right, bottom = (edges * required(name, "spatial_scale", spatial_scale)).unbind(1)
    rows, columns = (bins_of(a, (b - a).clamp(min=0.1), out) for a, b in ((top, bottom), (left, right)))
    bins = torch.cat([images[:, None], *rows, *columns], 1).to(torch.int64)
    return op.roi_average(data, NDArray(bins), output_size=(out, out), group=(group, group))


# ---- attention -------------------------------------------------------------------------------------------------------
@operator("data", name="_contrib_div_sqrt_dim")
def div_sqrt_dim(data):
    """data / sqrt(length of its last axis)

    Args:
        data: floating point, at least one axis.

    Example:
        >>> nd.contrib.div_sqrt_dim(nd.ones((1, 4))).asnumpy()
        array([[0.5, 0.5, 0.5, 0.5]], dtype=float32)
    """
    return op.mul_scalar(data, value=1 / math.sqrt(max(data.shape[-1], 1)))


def _parts(name: str, argument: str, x: NDArray, heads: Any, count: int) -> list[NDArray]:
    """x (time, batch, heads * count * units) as `count` arrays (batch * heads, time, units)."""
    require_ndim(name, argument, x, 3)
    time, batch, width = x.shape
    heads = required(name, "heads", heads)
    if heads < 1 or width % (heads * count):
        raise MXNetError(f"{name}: the last axis of {argument}, {width}, must be a multiple of {count} * {heads} heads")
    units = width // (heads * count)
    x = op.transpose(op.reshape(x, shape=(time, batch * heads, count, units)), axes=(2, 1, 0, 3))
    return slices(x, 0)


def _scores(q: NDArray, k: NDArray) -> NDArray:
    return op.matmul(op.mul_scalar(q, value=1 / math.sqrt(max(q.shape[2], 1))), k, transb=True)


def _attended(name: str, v: NDArray, attention: NDArray, heads: int) -> NDArray:
    """The weighted values, (time, batch, heads * units)."""
    require_ndim(name, "attention", attention, 3)
    require_shape(name, "attention", attention.shape, (v.shape[0], attention.shape[1], v.shape[1]))
    y = op.transpose(op.matmul(attention, v), axes=(1, 0, 2))
    return op.reshape(y, shape=(y.shape[0], v.shape[0] // heads, heads * v.shape[2]))


@operator("queries_keys_values", name="_contrib_interleaved_matmul_selfatt_qk")
def interleaved_matmul_selfatt_qk(queries_keys_values, heads=None):
    """Scaled products of queries and keys, (batch * heads, time, time).

    queries_keys_values: (time, batch, heads * 3 * units), of each head its query, key and value.

    Returns:
        Scores of the dtype of `queries_keys_values`, shape (batch * heads, length, length).

    Example:
        >>> nd.contrib.interleaved_matmul_selfatt_qk(nd.ones((2, 1, 12)), heads=1).shape
        (1, 2, 2)
    """
    q, k, _ = _parts("interleaved_matmul_selfatt_qk", "queries_keys_values", queries_keys_values, heads, 3)
    return _scores(q, k)


@operator("queries_keys_values, attention", name="_contrib_interleaved_matmul_selfatt_valatt")
def interleaved_matmul_selfatt_valatt(queries_keys_values, attention, heads=None):
    """Values weighted by attention (batch * heads, time, time): (time, batch, heads * units).

    Returns:
        Weighted sums of values, shape (length, batch, heads * size).

    Example:
        >>> qkv, attention = nd.ones((2, 1, 12)), nd.full((1, 2, 2), 0.5)
        >>> nd.contrib.interleaved_matmul_selfatt_valatt(qkv, attention, heads=1).shape
        (2, 1, 4)
    """
    name = "interleaved_matmul_selfatt_valatt"
    return _attended(name, _parts(name, "queries_keys_values", queries_keys_values, heads, 3)[2], attention, heads)


@operator("queries, keys_values", name="_contrib_interleaved_matmul_encdec_qk")
def interleaved_matmul_encdec_qk(queries, keys_values, heads=None):
    """Scaled products of queries (time, batch, heads * units) and of the keys in keys_values (time', batch, heads * 2 *
    units): (batch * heads, time, time').

    Returns:
        Scores of the dtype of `queries`, shape (batch * heads, length of queries, length of keys).

    Example:
        >>> nd.contrib.interleaved_matmul_encdec_qk(nd.ones((2, 1, 4)), nd.ones((3, 1, 8)), heads=1).shape
        (1, 2, 3)
    """
    name = "interleaved_matmul_encdec_qk"
    (q,) = _parts(name, "queries", queries, heads, 1)
    return _scores(q, _parts(name, "keys_values", keys_values, heads, 2)[0])


@operator("keys_values, attention", name="_contrib_interleaved_matmul_encdec_valatt")
def interleaved_matmul_encdec_valatt(keys_values, attention, heads=None):
    """The values in keys_values weighted by attention (batch * heads, time, time'): (time, batch, heads * units).

    Returns:
        Weighted sums of values, shape (length of queries, batch, heads * size).

    Example:
        >>> nd.contrib.interleaved_matmul_encdec_valatt(nd.ones((3, 1, 8)), nd.full((1, 2, 3), 0.5), heads=1).shape
        (2, 1, 4)
    """
    name = "interleaved_matmul_encdec_valatt"
    return _attended(name, _parts(name, "keys_values", keys_values, heads, 2)[1], attention, heads)


# ---- straight-through ------------------------------------------------------------------------------------------------
@operator("data", name="_contrib_round_ste")
def round_ste(data):
    """The nearest integers; the gradient passes unchanged.

    Example:
        >>> nd.contrib.round_ste(nd.array([0.4, 0.6])).asnumpy()
        array([0., 1.], dtype=float32)
    """
    return op.ste_round(data)


@operator("data", name="_contrib_sign_ste")
def sign_ste(data):
    """-1, 0 or 1; the gradient passes unchanged.

    Example:
        >>> nd.contrib.sign_ste(nd.array([-0.4, 0.6])).asnumpy()
        array([-1.,  1.], dtype=float32)
    """
    return op.ste_sign(data, alpha=0.0)


__all__ = public_names(globals())
