"""Convolutions: plain, transposed, depthwise, deformable, and with kernels that are data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import several

__all__ = [
    "adaptive_separable_convolution",
    "convolution",
    "deconvolution",
    "deformable_convolution",
    "depthwise_convolution",
    "depthwise_deconvolution",
]


# ---- geometry ----
def spatial_axes(x: Any, base_axis: int) -> int:
    """How many axes of `x` follow the samples and the channels."""
    return len(x.shape) - base_axis - 1 if base_axis >= 0 else -base_axis - 1


def placement(x: Any, base_axis: int, pad: Any, stride: Any, dilation: Any) -> tuple:
    """The three with their defaults filled in: no padding, every position, dense kernels."""
    n = spatial_axes(x, base_axis)
    return (
        (0,) * n if pad is None else several("pad", pad),
        (1,) * n if stride is None else several("stride", stride),
        (1,) * n if dilation is None else several("dilation", dilation),
    )


def check(
    name: str,
    x: Any,
    weight: Any,
    bias: Any,
    base_axis: int,
    sizes: dict[str, Sequence[int]],
    kernel: Sequence[int],
    channels: dict[str, tuple[int, int]],
    maps: int,
) -> None:
    """Raises RuntimeError for arguments that do not fit together.

    `sizes`: arguments with one entry for each spatial axis; `channels`: what the numbers of channels are and
    must be; `maps`: the channels of the result.
    """
    n = spatial_axes(x, base_axis)
    if n < 0 or len(kernel) != n:
        raise RuntimeError(
            f"{name}: weight of shape {tuple(weight.shape)} does not fit to x of shape "
            f"{tuple(x.shape)} with base_axis={base_axis}, which has {n} spatial axes"
        )
    for key, value in sizes.items():
        if len(value) != n:
            raise RuntimeError(f"{name}: {key} must have {n} entries, one for each spatial axis, not {tuple(value)}")
    for what, (given, expected) in channels.items():
        if given != expected:
            raise RuntimeError(
                f"{name}: {what} must be {expected}, not {given}; x has shape "
                f"{tuple(x.shape)}, weight {tuple(weight.shape)}"
            )
    if bias is not None and tuple(bias.shape) != (maps,):
        raise RuntimeError(f"{name}: bias must have shape ({maps},), not {tuple(bias.shape)}")


def usual(x: Any, weight: Any, bias: Any, base_axis: int, channel_last: bool, *sizes: Sequence[int]) -> bool:
    """Whether the engine takes all as it is; it then finds out itself whether lengths fit."""
    n = weight.ndim - 2
    return (
        base_axis == 1
        and not channel_last
        and x.ndim == n + 2
        and all(len(v) == n for v in sizes)
        and (bias is None or tuple(bias.shape) == weight.shape[:1])
    )


def check_lengths(name: str, what: str, lengths: Sequence[int], x: Any, weight: Any) -> None:
    """RuntimeError where the result would have no elements along a spatial axis."""
    if any(n <= 0 for n in lengths):
        raise RuntimeError(
            f"{name}: {what} would be {tuple(lengths)} for x of shape {tuple(x.shape)} and "
            f"weight of shape {tuple(weight.shape)}"
        )


def channels_first(x: Any) -> Any:
    """(a, *space, c) as (a, c, *space)."""
    return op.transpose(x, axes=(0, x.ndim - 1, *range(1, x.ndim - 1)))


def channels_last(x: Any) -> Any:
    return op.transpose(x, axes=(0, *range(2, x.ndim), 1))


def on_images(f: Callable, x: Any, base_axis: int, last: bool) -> Any:
    """f(x) for an `f` that takes (samples, channels, *space), the samples of `x` being any number of axes."""
    base = base_axis % x.ndim
    if base == 1 and not last:
        return f(x)
    samples = x.shape[:base]
    if base != 1:
        x = op.reshape(x, shape=(prod(samples), *x.shape[base:]))
    y = channels_last(f(channels_first(x))) if last else f(x)
    return y if base == 1 else op.reshape(y, shape=(*samples, *y.shape[1:]))


# ---- convolution ----
@function("Convolution", "x, weight, bias?", primitive=True)
def _convolution(x, weight, bias=None, base_axis=1, pad=None, stride=None, dilation=None, group=1, channel_last=False):
    params = {"stride": stride, "pad": pad, "dilate": dilation, "groups": group}
    if usual(x, weight, bias, base_axis, channel_last, pad, stride, dilation):
        try:
            return op.convolution(x, weight, bias, **params)
        except (RuntimeError, ValueError):
            pass  # what is wrong follows
    axis = -1 if channel_last else base_axis
    kernel = weight.shape[1:-1] if channel_last else weight.shape[2:]
    given = x.shape[axis]
    check(
        "convolution",
        x,
        weight,
        bias,
        base_axis,
        {"pad": pad, "stride": stride, "dilation": dilation},
        kernel,
        {
            "the input channels of weight": (weight.shape[-1 if channel_last else 1], given // group),
            "x's channels modulo group": (given % group, 0),
            "weight.shape[0] modulo group": (weight.shape[0] % group, 0),
        },
        weight.shape[0],
    )
    first = (base_axis if base_axis >= 0 else x.ndim + base_axis) + (0 if channel_last else 1)
    rests = [x.shape[first + k] + 2 * pad[k] - dilation[k] * (kernel[k] - 1) - 1 for k in range(len(kernel))]
    # nnabla rounds towards 0: a kernel that is larger by less than a stride has one position, and reads zeros beyond.
    sizes = [1 if -s < r < 0 else r // s + 1 for r, s in zip(rests, stride, strict=True)]
    check_lengths("convolution", "the result's spatial axes", sizes, x, weight)
    if min(rests, default=0) < 0:
        params["outsize"] = sizes
    w = channels_first(weight) if channel_last else weight
    return on_images(lambda image: op.convolution(image, w, bias, **params), x, base_axis, channel_last)


def convolution(
    x, weight, bias=None, base_axis=1, pad=None, stride=None, dilation=None, group=1, channel_last=False, **more
):
    """Cross-correlation of images with a bank of kernels, over one to three spatial axes.

    x: (*samples, channels, *size), the samples being the axes before `base_axis`; weight: (maps, channels /
    group, *kernel); bias: (maps,). Gives (*samples, maps, *positions). `pad`, `stride` and `dilation` have an
    entry for each spatial axis; None: no padding and steps of one. `channel_last`: channels are the last axis
    of x, of the result and of weight. RuntimeError where shapes do not fit.
    """
    return _convolution(
        x, weight, bias, base_axis, *placement(x, base_axis, pad, stride, dilation), group, channel_last, **more
    )


@function("Deconvolution", "x, weight, bias?", primitive=True)
def _deconvolution(
    x,
    weight,
    bias=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    channel_last=False,
    output_padding=None,
):
    base = base_axis % x.ndim
    kernel = weight.shape[1:-1] if channel_last else weight.shape[2:]
    maps = weight.shape[-1 if channel_last else 1] * group
    extra = output_padding or (0,) * len(kernel)
    check(
        "deconvolution",
        x,
        weight,
        bias,
        base_axis,
        {"pad": pad, "stride": stride, "dilation": dilation, "output_padding": extra},
        kernel,
        {
            "weight.shape[0]": (weight.shape[0], x.shape[-1 if channel_last else base]),
            "weight.shape[0] modulo group": (weight.shape[0] % group, 0),
        },
        maps,
    )
    size = x.shape[base:-1] if channel_last else x.shape[base + 1 :]
    out = tuple(
        stride[k] * (size[k] - 1) + dilation[k] * (kernel[k] - 1) + 1 - 2 * pad[k] + extra[k]
        for k in range(len(kernel))
    )
    check_lengths("deconvolution", "the result's spatial axes", out, x, weight)
    if any(e >= s for e, s in zip(extra, stride, strict=True)):
        raise RuntimeError(f"deconvolution: output_padding must be less than stride {tuple(stride)}, not {extra}")
    w = channels_first(weight) if channel_last else weight
    return on_images(
        lambda image: op.transposed_convolution(
            image, w, bias, stride=stride, pad=pad, dilate=dilation, groups=group, output_padding=extra
        ),
        x,
        base_axis,
        channel_last,
    )


def deconvolution(
    x,
    weight,
    bias=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    channel_last=False,
    output_padding=None,
    **more,
):
    """Transposed convolution: the gradient of a convolution by its image.

    x: (*samples, channels, *size); weight: (channels, maps / group, *kernel); bias: (maps,). Gives (*samples,
    maps, *size'), size' = stride * (size - 1) + dilation * (kernel - 1) + 1 - 2 * pad + output_padding.
    Arguments as in `convolution`; `output_padding` is less than `stride`. RuntimeError where shapes do not
    fit.
    """
    if output_padding is None:
        output_padding = (0,) * spatial_axes(x, base_axis)
    return _deconvolution(
        x,
        weight,
        bias,
        base_axis,
        *placement(x, base_axis, pad, stride, dilation),
        group,
        channel_last,
        output_padding,
        **more,
    )


@function("DepthwiseConvolution", "x, weight, bias?", primitive=True)
def _depthwise_convolution(x, weight, bias=None, base_axis=1, pad=None, stride=None, dilation=None, multiplier=1):
    maps = x.shape[base_axis] * multiplier
    check(
        "depthwise_convolution",
        x,
        weight,
        bias,
        base_axis,
        {"pad": pad, "stride": stride, "dilation": dilation},
        weight.shape[1:],
        {"weight.shape[0]": (weight.shape[0], maps)},
        maps,
    )
    return on_images(
        lambda image: op.depthwise_convolution(image, weight, bias, stride=stride, pad=pad, dilate=dilation),
        x,
        base_axis,
        False,
    )


def depthwise_convolution(
    x, weight, bias=None, base_axis=1, pad=None, stride=None, dilation=None, multiplier=1, **more
):
    """Convolution of each channel with `multiplier` kernels of its own.

    x: (*samples, channels, *size); weight: (channels * multiplier, *kernel); bias: (channels * multiplier,).
    Other arguments as in `convolution`. RuntimeError where shapes do not fit.
    """
    return _depthwise_convolution(
        x, weight, bias, base_axis, *placement(x, base_axis, pad, stride, dilation), multiplier, **more
    )


@function("DepthwiseDeconvolution", "x, weight, bias?", primitive=True)
def _depthwise_deconvolution(x, weight, bias=None, base_axis=1, pad=None, stride=None, dilation=None, divisor=1):
    channels = x.shape[base_axis]
    check(
        "depthwise_deconvolution",
        x,
        weight,
        bias,
        base_axis,
        {"pad": pad, "stride": stride, "dilation": dilation},
        weight.shape[1:],
        {"weight.shape[0]": (weight.shape[0], channels), "x's channels modulo divisor": (channels % divisor, 0)},
        channels // divisor,
    )
    return on_images(
        lambda image: op.depthwise_deconvolution(
            image, weight, bias, stride=stride, pad=pad, dilate=dilation, divisor=divisor
        ),
        x,
        base_axis,
        False,
    )


def depthwise_deconvolution(x, weight, bias=None, base_axis=1, pad=None, stride=None, dilation=None, divisor=1, **more):
    """Transposed depthwise convolution: each `divisor` consecutive channels are added up to one.

    x: (*samples, channels, *size); weight: (channels, *kernel); bias: (channels / divisor,). Other arguments
    as in `deconvolution`. RuntimeError where shapes do not fit.
    """
    return _depthwise_deconvolution(
        x, weight, bias, base_axis, *placement(x, base_axis, pad, stride, dilation), divisor, **more
    )


# ---- kernels and positions that are data ----
@function("DeformableConvolution", "x, weight, offset, mask?, bias?")
def _deformable_convolution(
    x,
    weight,
    offset,
    mask=None,
    bias=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    deformable_group=1,
    channel_last=False,
):
    name = "deformable_convolution"
    if x.ndim != 4 or base_axis not in (1, -3):
        raise RuntimeError(f"{name}: x must have 4 axes and base_axis must be 1, not {tuple(x.shape)} and {base_axis}")
    if mask is not None and mask.ndim == 1 and bias is None:  # a list of inputs has no gaps
        mask, bias = None, mask
    if channel_last:
        x, weight, offset = channels_first(x), channels_first(weight), channels_first(offset)
        mask = None if mask is None else channels_first(mask)
    samples, channels, height, width = x.shape
    maps, kh, kw = weight.shape[0], *weight.shape[2:]
    check(
        name,
        x,
        weight,
        bias,
        1,
        {"pad": pad, "stride": stride, "dilation": dilation},
        (kh, kw),
        {
            "the input channels of weight": (weight.shape[1], channels // group),
            "x's channels modulo group": (channels % group, 0),
            "weight.shape[0] modulo group": (maps % group, 0),
            "x's channels modulo deformable_group": (channels % deformable_group, 0),
            "weight.shape[0] modulo deformable_group": (maps % deformable_group, 0),
        },
        maps,
    )
    for what, v, per_position in (("offset", offset, 2), ("mask", mask, 1)):
        expected = (samples, per_position * deformable_group * kh * kw, height, width)
        if v is not None and tuple(v.shape) != expected:
            raise RuntimeError(f"{name}: {what} must have shape {expected}, not {tuple(v.shape)}")
    out = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, p, s, d in zip((height, width), (kh, kw), pad, stride, dilation, strict=True)
    ]
    check_lengths(name, "the result's spatial axes", out, x, weight)
    if out[0] > height or out[1] > width:
        raise RuntimeError(
            f"{name}: pad must be less: the result's spatial axes would be {tuple(out)}, but "
            f"offset is as large as x of shape {tuple(x.shape)}"
        )

    def at_places(v):
        """Of maps as large as the image, the places where the result's windows begin."""
        return v[:, :, : (out[0] - 1) * stride[0] + 1 : stride[0], : (out[1] - 1) * stride[1] + 1 : stride[1]]

    cols = op.deform_columns(
        x,
        at_places(offset),
        None if mask is None else at_places(mask),
        ksize=(kh, kw),
        stride=stride,
        pad=pad,
        dilate=dilation,
        groups=deformable_group,
    )
    w = op.reshape(weight, shape=(maps, channels // group * kh * kw, 1, 1))
    y = op.convolution(cols, w, bias, groups=group)
    return channels_last(y) if channel_last else y


def deformable_convolution(
    x,
    weight,
    offset,
    mask=None,
    bias=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    deformable_group=1,
    channel_last=False,
    **more,
):
    """Convolution of images that reads each pixel at a distance of its own from its place, by bilinear
    interpolation.

    x: (batch, channels, height, width); weight: (maps, channels / group, kh, kw); offset: (batch,
    deformable_group * kh * kw * 2, height, width), rows before columns; mask, which what is read is
    multiplied by: (batch, deformable_group * kh * kw, height, width); bias: (maps,). Zeros are read beyond
    the image. Other arguments as in `convolution`. RuntimeError where shapes do not fit.
    """
    return _deformable_convolution(
        x,
        weight,
        offset,
        mask,
        bias,
        base_axis,
        *placement(x, base_axis, pad, stride, dilation),
        group,
        deformable_group,
        channel_last,
        **more,
    )


@function("AdaptiveSeparableConvolution", "x, vertical_kernel, horizontal_kernel")
def adaptive_separable_convolution(x, vertical_kernel, horizontal_kernel):
    """Filters each pixel with a kernel of its own, given as its column and its row.

    x: (batch, channels, height, width); vertical_kernel: (batch, kv, height', width') and horizontal_kernel:
    (batch, kh, height', width'), whose maps are as large as the result or larger. Gives (batch, channels,
    height - kv + 1, width - kh + 1). RuntimeError where shapes do not fit.
    """
    kv, kh = vertical_kernel.shape[1], horizontal_kernel.shape[1]
    height, width = x.shape[2] - kv + 1, x.shape[3] - kh + 1
    for what, kernel in (("vertical_kernel", vertical_kernel), ("horizontal_kernel", horizontal_kernel)):
        fits = all(
            low <= n <= high for low, n, high in zip((height, width), kernel.shape[2:], x.shape[2:], strict=True)
        )
        if kernel.shape[0] != x.shape[0] or not fits or height <= 0 or width <= 0:
            raise RuntimeError(
                f"adaptive_separable_convolution: {what} of shape {tuple(kernel.shape)} does "
                f"not fit to "
                f"x of shape {tuple(x.shape)}: the result would have height {height} and "
                f"width {width}"
            )
    columns = op.expand_dims(horizontal_kernel[:, :, :height, :width], axis=1)
    y = None
    for j in range(kv):
        row = op.im2col(x[:, :, j : j + height], ksize=(1, kh))
        row = op.reshape(row, shape=(x.shape[0], x.shape[1], kh, height, width))
        part = op.sum(row * columns, axis=(2,)) * vertical_kernel[:, j : j + 1, :height, :width]
        y = part if y is None else y + part
    return y
