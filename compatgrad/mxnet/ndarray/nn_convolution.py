"""Convolution, its transpose, pooling and upsampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch

from compatgrad.core.kept_tensors import keep as _keep

from ..base import MXNetError
from ._arguments import (
    as_ints,
    check_bias,
    check_reach,
    choice,
    public_names,
    require_ndim,
    require_shape,
    required,
    whole,
)
from ._operator import op, operator
from .ndarray import NDArray

_INT = {int}  # 3.0 equals 3, but MXNet cannot read it as an integer
_FIRST, _LAST = (None, "NCW", "NCHW", "NCDHW"), ("NWC", "NHWC", "NDHWC")


# ---- geometry --------------------------------------------------------------------------------------------------------
def _tuple(name: str, argument: str, value: Any, n: int, default: int) -> tuple[int, ...]:
    """An argument as a tuple with one entry for each of `n` axes; () becomes the default."""
    value = tuple(as_ints(name, argument, value)) or (default,) * n
    if len(value) != n:
        raise MXNetError(f"{name}: {argument} must have {n} entries as kernel has, got {value}")
    return value


def _channels_last(name: str, layout: Any, n: int) -> bool:
    """Whether the layout has the channels as the last axis of data."""
    if layout in _FIRST or layout == "None":
        last = False
    elif layout in _LAST:
        last = True
    else:
        last = choice(name, "layout", layout)
    if layout and layout != "None" and len(layout) != n + 2:
        raise MXNetError(f"{name}: layout {layout!r} does not fit a kernel over {n} axes")
    return last


def _to_first(x: NDArray) -> NDArray:
    return op.transpose(x, axes=(0, x.ndim - 1, *range(1, x.ndim - 1)))


def _to_last(x: NDArray) -> NDArray:
    return op.transpose(x, axes=(0, *range(2, x.ndim), 1))


def _windows(name: str, data: NDArray, kernel: Any) -> tuple[int, ...]:
    kernel = tuple(as_ints(name, "kernel", required(name, "kernel", kernel)))
    if not 1 <= len(kernel) <= 3:
        raise MXNetError(f"{name}: kernel must have 1 to 3 entries, got {kernel}")
    require_ndim(name, "data", data, len(kernel) + 2)
    return kernel


def _check_positive(name: str, **values: tuple[int, ...]) -> None:
    for argument, value in values.items():
        if min(value) <= 0:
            raise MXNetError(f"{name}: {argument} must be positive, got {value}")


# ---- convolution -----------------------------------------------------------------------------------------------------
@operator("data, weight, bias? unless no_bias", aliases=("Convolution_v1",))
def Convolution(
    data, weight, bias=None, kernel=None, stride=(), dilate=(), pad=(), num_filter=None, num_group=1, workspace=1024,
    no_bias=False, cudnn_tune=None, cudnn_off=False, layout=None,
):  # fmt: skip
    """Cross-correlation over one to three axes.

    data: (batch, channels, *size); weight: (num_filter, channels / num_group, *kernel); bias: (num_filter,) unless
    `no_bias`. `stride`, `dilate` and `pad` have kernel's length, or are (). Layouts NHWC and NDHWC have channels last
    in data, weight and the result. Other arguments are accepted. MXNetError if anything does not fit.

    Args:
        data: floating point, shape (batch, channels, *space), one to three axes of space.
        weight: shape (num_filter, channels / num_group, *kernel).

    Example:
        >>> x, w = nd.arange(9).reshape((1, 1, 3, 3)), nd.ones((1, 1, 2, 2))
        >>> nd.Convolution(x, w, kernel=(2, 2), num_filter=1, no_bias=True).asnumpy()
        array([[[[ 8., 12.],
                 [20., 24.]]]], dtype=float32)
    """
    if (
        layout in _FIRST
        and type(kernel) is type(stride) is type(dilate) is type(pad) is tuple
        and type(num_filter) is type(num_group) is int
        and num_group > 0
        and weight.shape == (num_filter, data.shape[1] // num_group, *kernel)
        and (no_bias if bias is None else not no_bias and bias.shape == (num_filter,))
        and data.ndim == weight.ndim
        and len(stride) in (0, len(kernel))
        and len(pad) in (0, len(kernel))
        and len(dilate) in (0, len(kernel))
        and {*map(type, (*kernel, *stride, *dilate, *pad))} == _INT
    ):
        return op.convolution(data, weight, bias, stride=stride, pad=pad, dilate=dilate, groups=num_group)
    return _convolution(data, weight, bias, kernel, stride, dilate, pad, num_filter, num_group, no_bias, layout)


def _convolution(data, weight, bias, kernel, stride, dilate, pad, num_filter, groups, no_bias, layout):
    """Convolution with all checks, for the arguments that the fast path does not take."""
    name = "Convolution"
    kernel = _windows(name, data, kernel)
    n = len(kernel)
    stride, dilate = _tuple(name, "stride", stride, n, 1), _tuple(name, "dilate", dilate, n, 1)
    pad = _tuple(name, "pad", pad, n, 0)
    _check_positive(name, kernel=kernel, stride=stride, dilate=dilate)
    last = _channels_last(name, layout, n)
    channels = data.shape[-1 if last else 1]
    num_filter, groups = whole(name, "num_filter", num_filter), whole(name, "num_group", groups)
    if groups < 1 or channels % groups or num_filter % groups:
        raise MXNetError(f"{name}: num_group {groups} must divide the {channels} channels of data and num_filter, "
                         f"{num_filter}")  # fmt: skip
    inside = (*kernel, channels // groups) if last else (channels // groups, *kernel)
    require_shape(name, "weight", weight.shape, (num_filter, *inside))
    check_bias(name, bias, no_bias, num_filter)
    if last:
        data, weight = _to_first(data), _to_first(weight)
    check_reach(name, data, kernel, dilate, pad)
    y = op.convolution(data, weight, bias, stride=stride, pad=pad, dilate=dilate, groups=groups)
    return _to_last(y) if last else y


@operator("data, weight, bias? unless no_bias")
def Deconvolution(
    data, weight, bias=None, kernel=None, stride=(), dilate=(), pad=(), adj=(), target_shape=(), num_filter=None,
    num_group=1, workspace=512, no_bias=True, cudnn_tune=None, cudnn_off=False, layout=None,
):  # fmt: skip
    """The transpose of a convolution.

    data: (batch, channels, *size); weight: (channels, num_filter / num_group, *kernel); bias: (num_filter,), without
    which `no_bias` must stay True. An axis of length size becomes
    stride * (size - 1) + dilate * (kernel - 1) + 1 - 2 * pad + adj long. `target_shape` gives the lengths instead, from
    which padding and `adj` follow. MXNetError if anything does not fit.

    Args:
        data: floating point, shape (batch, channels, *space), one to three axes of space.
        weight: shape (channels, num_filter / num_group, *kernel).

    Example:
        >>> x, w = nd.array([[[[1.0, 2.0]]]]), nd.ones((1, 1, 1, 2))
        >>> nd.Deconvolution(x, w, kernel=(1, 2), stride=(1, 2), num_filter=1).asnumpy()
        array([[[[1., 1., 2., 2.]]]], dtype=float32)
    """
    name = "Deconvolution"
    kernel = _windows(name, data, kernel)
    n = len(kernel)
    stride, dilate = _tuple(name, "stride", stride, n, 1), _tuple(name, "dilate", dilate, n, 1)
    pad, adj = _tuple(name, "pad", pad, n, 0), _tuple(name, "adj", adj, n, 0)
    target = _tuple(name, "target_shape", target_shape, n, 0)
    _check_positive(name, kernel=kernel, stride=stride, dilate=dilate)
    last = _channels_last(name, layout, n)
    if last:
        data, weight = _to_first(data), _to_first(weight)
    channels = data.shape[1]
    num_filter, num_group = whole(name, "num_filter", num_filter), whole(name, "num_group", num_group)
    if num_group < 1 or channels % num_group or num_filter % num_group:
        raise MXNetError(f"{name}: num_group {num_group} must divide the {channels} channels of data and num_filter, "
                         f"{num_filter}")  # fmt: skip
    require_shape(name, "weight", weight.shape, (channels, num_filter // num_group, *kernel))
    check_bias(name, bias, no_bias, num_filter)
    full = [stride[k] * (data.shape[2 + k] - 1) + dilate[k] * (kernel[k] - 1) + 1 for k in range(n)]
    if any(target):
        over = [f - t if t else 0 for f, t in zip(full, target, strict=True)]
        if min(over) < 0:
            raise MXNetError(f"{name}: target_shape must not exceed {tuple(full)}, got {target}")
        pad, adj = tuple((v + 1) // 2 for v in over), tuple(v % 2 for v in over)
    if any(a >= s for a, s in zip(adj, stride, strict=True)):
        raise MXNetError(f"{name}: adj must be smaller than stride {stride}, got {adj}")
    size = [f - 2 * p + a for f, p, a in zip(full, pad, adj, strict=True)]
    if min(size) <= 0:
        raise MXNetError(f"{name}: the result would have the spatial shape {tuple(size)} for data of shape "
                         f"{data.shape}, kernel {kernel}, pad {pad}")  # fmt: skip
    y = op.deconvolution(data, weight, bias, stride=stride, pad=pad, dilate=dilate, groups=num_group, outsize=size)
    return _to_last(y) if last else y


# ---- pooling ---------------------------------------------------------------------------------------------------------
@operator("data", aliases=("Pooling_v1",), outputs="output, kept?")
def Pooling(
    data, kernel=(), pool_type="max", global_pool=False, cudnn_off=False, pooling_convention="valid", stride=(),
    pad=(), p_value=None, count_include_pad=None, layout=None,
):  # fmt: skip
    """Pooling over one to three axes of data (batch, channels, *size): one number for each window, or each channel.

    pool_type: "max", "avg", "sum", or "lp", the p_value-th root of the sum of p_value-th powers, p_value being 1, 2
    or 3. pooling_convention: "full" adds windows that reach beyond the padding so that no element is left out;
    "same", for maxima over one axis, pads so that there is one window for each stride. `count_include_pad` (default
    True): padding counts as zeros in means. `global_pool`: one window is the image. Strides are 1 unless given. Layouts
    NWC, NHWC, NDHWC have channels last. MXNetError if anything does not fit.

    Args:
        data: shape (batch, channels, *space), one to three axes of space.

    Example:
        >>> nd.Pooling(nd.arange(16).reshape((1, 1, 4, 4)), kernel=(2, 2), stride=(2, 2), pool_type="max").asnumpy()
        array([[[[ 5.,  7.],
                 [13., 15.]]]], dtype=float32)
    """
    n = data.ndim - 2
    if (
        pool_type == "max"
        and not global_pool
        and pooling_convention == "valid"
        and layout in _FIRST
        and type(kernel) is type(stride) is type(pad) is tuple
        and len(kernel) == n == len(stride)
        and not any(pad)
        and {*map(type, (*kernel, *stride, *pad))} == _INT
    ):
        return op.max_pooling(data, ksize=kernel, stride=stride, cover_all=False)
    name = "Pooling"
    choice(name, "pool_type", pool_type)
    if not 1 <= n <= 3:
        raise MXNetError(f"{name}: data must have 3 to 5 axes, got the shape {data.shape}")
    last = _channels_last(name, layout, n)
    x = _to_first(data) if last else data
    if pool_type == "lp" and p_value not in (1, 2, 3):
        raise MXNetError(f"{name}: p_value must be 1, 2 or 3 for pool_type 'lp', got {p_value}")
    if global_pool:
        y = _global_pool(x, pool_type, p_value)
    else:
        kernel = _windows(name, data, kernel)
        if choice(name, "pooling_convention", pooling_convention) == "same":
            if any(as_ints(name, "pad", pad)):
                raise MXNetError(f"{name}: pad must be 0 with pooling_convention 'same', got {pad}")
            x, pad = _padded_for_same(name, x, kernel, _tuple(name, "stride", stride, n, 1), pool_type), ()
        stride, pad = _tuple(name, "stride", stride, n, 1), _tuple(name, "pad", pad, n, 0)
        _check_positive(name, kernel=kernel, stride=stride)
        for k in range(n):
            if kernel[k] > x.shape[2 + k] + 2 * pad[k]:
                raise MXNetError(f"{name}: kernel {kernel} exceeds data of shape {x.shape} with pad {pad}")
            if pad[k] >= kernel[k]:
                raise MXNetError(f"{name}: pad must be smaller than kernel {kernel}, got {pad}")
        y = _pool(x, pool_type, p_value, kernel, stride, pad, pooling_convention == "full", count_include_pad)
    return _to_last(y) if last else y


def _padded_for_same(name: str, x: NDArray, kernel: Any, stride: Any, pool_type: str) -> NDArray:
    """x padded so that there is one window for each `stride` elements."""
    if pool_type != "max" or len(kernel) != 1:
        raise MXNetError(f"{name}: pooling_convention 'same' is for pool_type 'max' over one axis, got {pool_type!r} "
                         f"over {len(kernel)}")  # fmt: skip
    _check_positive(name, kernel=kernel, stride=stride)
    length = x.shape[2]
    missing = max((-(-length // stride[0]) - 1) * stride[0] + kernel[0] - length, 0)
    if not missing:
        return x
    return op.pad(x, pad_width=(0, 0, 0, 0, missing // 2, missing - missing // 2), value=-float("inf"))


def _pool(x, pool_type, p, kernel, stride, pad, full, include_pad):
    window = {"ksize": kernel, "stride": stride, "pad": pad}
    if pool_type == "max":
        return op.max_pooling(x, **window, cover_all=full)
    full = full and any((x.shape[2 + k] + 2 * pad[k] - kernel[k]) % stride[k] for k in range(len(kernel)))

    def total(v):
        return op.sum_pooling(v, **window, cover_all=True) if full else op.window_pooling(v, **window)

    if pool_type == "lp":
        return _lp(x, p, total)
    if pool_type == "sum":
        return total(x)
    include_pad = include_pad is None or bool(include_pad)
    if not full:
        return op.window_pooling(x, **window, divisor="padded" if include_pad else "image")
    return op.mul(total(x), NDArray(_shares(x.shape[2:], kernel, stride, pad, include_pad).to(x.tensor)))


@_keep(64)
def _shares(size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int],
            include_pad: bool) -> torch.Tensor:  # fmt: skip
    """1 / (number of elements) of each window with the convention "full", where windows may exceed the padding."""
    total = torch.ones((), dtype=torch.float64)
    for n, k, s, p in zip(size, kernel, stride, pad, strict=True):
        start = torch.arange(-((k - n - 2 * p) // s) + 1) * s - p
        end = (start + k).clamp(max=n + p)
        if not include_pad:
            start, end = start.clamp(min=0), end.clamp(max=n)
        total = total[..., None] / (end - start).clamp(min=1)
    return total


def _lp(x: NDArray, p: int, total: Callable[[NDArray], NDArray]) -> NDArray:
    if p == 1:
        return total(x)
    if p == 2:
        return op.sqrt(total(op.square(x)))
    s = total(op.pow_scalar(x, exponent=3))
    return op.mul(op.sign(s), op.pow_scalar(op.abs(s), exponent=1 / 3))


def _global_pool(x: NDArray, pool_type: str, p: Any) -> NDArray:
    axes = tuple(range(2, x.ndim))
    if pool_type == "max":
        return op.extreme(x, axis=axes, keepdims=True)
    if pool_type == "lp":
        return _lp(x, p, lambda v: op.sum(v, axis=axes, keepdims=True))
    return op.sum(x, axis=axes, keepdims=True) if pool_type == "sum" else op.mean(x, axis=axes, keepdims=True)


# ---- upsampling ------------------------------------------------------------------------------------------------------
@operator("*data")
def UpSampling(
    data, scale=None, num_filter=0, sample_type=None, multi_input_mode="concat", num_args=None, workspace=512
):
    """Images (batch, channels, height, width) `scale` times as large.

    sample_type "nearest" repeats elements. Of several images, all get the size of the first result, and are joined
    along the channels, or added up with multi_input_mode="sum". "bilinear" takes an image and a weight (channels, 1,
    kernel, kernel), where kernel is 2 * scale - scale % 2, and is a transposed convolution. MXNetError otherwise.

    Args:
        data: floating point, shape (batch, channels, height, width); for "bilinear" the data and the weights of the
            filter.

    Example:
        >>> nd.UpSampling(nd.array([[[[1.0, 2.0]]]]), scale=2, sample_type="nearest").asnumpy()
        array([[[[1., 1., 2., 2.],
                 [1., 1., 2., 2.]]]], dtype=float32)
    """
    name = "UpSampling"
    if required(name, "scale", scale) < 1:
        raise MXNetError(f"{name}: scale must be at least 1, got {scale}")
    choice(name, "sample_type", required(name, "sample_type", sample_type))
    for x in data:
        require_ndim(name, "data", x, 4)
    if sample_type == "bilinear":
        if len(data) != 2:
            raise MXNetError(f"{name}: bilinear takes an image and a weight, got {len(data)} inputs")
        x, weight = data
        kernel, pad, channels = 2 * scale - scale % 2, scale // 2, x.shape[1]
        require_shape(name, "weight", weight.shape, (channels, 1, kernel, kernel))
        size = [n * scale for n in x.shape[2:]]
        return op.deconvolution(x, weight, stride=(scale,) * 2, pad=(pad,) * 2, groups=channels, outsize=size)
    choice(name, "multi_input_mode", multi_input_mode)
    if not data:
        raise MXNetError(f"{name}: expected at least one image")
    size = [n * scale for n in data[0].shape[2:]]
    parts = []
    for x in data:
        if 0 in x.shape[2:]:
            raise MXNetError(f"{name}: data of shape {x.shape} has no pixels")
        factors = [n // m for n, m in zip(size, x.shape[2:], strict=True)]
        if any(f * m != n for f, m, n in zip(factors, x.shape[2:], size, strict=True)):
            raise MXNetError(f"{name}: the size of data of shape {x.shape} does not divide {tuple(size)}")
        parts.append(op.repeat_blocks(x, kernel=factors))
    if len(parts) == 1:
        return parts[0]
    return op.concat(parts, axis=1) if multi_input_mode == "concat" else op.add_n(parts)


# ---- patches ---------------------------------------------------------------------------------------------------------
def _patches(name: str, kernel: Any, stride: Any, dilate: Any, pad: Any) -> dict[str, tuple[int, ...]]:
    kernel = tuple(as_ints(name, "kernel", required(name, "kernel", kernel)))
    if len(kernel) != 2 or min(kernel) < 1:
        raise MXNetError(f"{name}: kernel must have 2 positive entries, got {kernel}")
    return {"ksize": kernel, "stride": _tuple(name, "stride", stride, 2, 1), "pad": _tuple(name, "pad", pad, 2, 0),
            "dilate": _tuple(name, "dilate", dilate, 2, 1)}  # fmt: skip


@operator("data")
def im2col(data, kernel=None, stride=(), dilate=(), pad=()):
    """Patches of images (batch, channels, height, width) as columns: (batch, channels * prod(kernel), positions).

    Args:
        data: floating point, shape (batch, channels, *space), one to three axes of space.

    Returns:
        Shape (batch, channels * size of the kernel, number of windows).

    Example:
        >>> nd.im2col(nd.arange(9).reshape((1, 1, 3, 3)), kernel=(2, 2)).asnumpy()
        array([[[0., 1., 3., 4.],
                [1., 2., 4., 5.],
                [3., 4., 6., 7.],
                [4., 5., 7., 8.]]], dtype=float32)
    """
    require_ndim("im2col", "data", data, 4)
    y = op.im2col(data, **_patches("im2col", kernel, stride, dilate, pad))
    return op.reshape(y, shape=(*y.shape[:2], y.shape[2] * y.shape[3]))


@operator("data")
def col2im(data, output_size=None, kernel=None, stride=(), dilate=(), pad=()):
    """Adds the columns that `im2col` makes to images of output_size (height, width): its transpose.

    Args:
        data: floating point, shape (batch, channels * size of the kernel, number of windows).
        output_size: lengths of the result's axes of space.

    Returns:
        Shape (batch, channels, *output_size).

    Example:
        >>> columns = nd.im2col(nd.arange(9).reshape((1, 1, 3, 3)), kernel=(2, 2))
        >>> nd.col2im(columns, output_size=(3, 3), kernel=(2, 2)).asnumpy()
        array([[[[ 0.,  2.,  2.],
                 [ 6., 16., 10.],
                 [ 6., 14.,  8.]]]], dtype=float32)
    """
    require_ndim("col2im", "data", data, 3)
    params = _patches("col2im", kernel, stride, dilate, pad)
    size = as_ints("col2im", "output_size", required("col2im", "output_size", output_size))
    places = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, params["ksize"], params["stride"], params["pad"], params["dilate"], strict=True)
    ]
    width = prod(params["ksize"])
    if data.shape[1] % width:
        raise MXNetError(f"col2im: data of shape {data.shape} has no multiple of {width} rows")
    require_shape("col2im", "data", data.shape, (data.shape[0], data.shape[1], prod(places)))
    return op.col2im(op.reshape(data, shape=(*data.shape[:2], *places)), insize=size, **params)


__all__ = public_names(globals())
