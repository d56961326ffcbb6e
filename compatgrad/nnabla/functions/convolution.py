"""Convolutions: plain, transposed, depthwise, deformable, and with kernels that are inputs for each pixel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions._images import (
    CONVOLUTION,
    channels_first,
    channels_last,
    check,
    check_lengths,
    on_images,
    placement,
    spatial_axes,
    usual,
)

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = [
    "adaptive_separable_convolution",
    "convolution",
    "deconvolution",
    "deformable_convolution",
    "depthwise_convolution",
    "depthwise_deconvolution",
]


def _check_group(name, group, what="group"):
    if group < 1:
        raise ValueError(f"{name}: {what} must be at least 1, got {group}")


# ---- convolution ----
@function("Convolution", "x, weight, bias?", primitive=True)
def _convolution(x, weight, bias=None, base_axis=1, pad=None, stride=None, dilation=None, group=1, channel_last=False):
    params = {"stride": stride, "pad": pad, "dilate": dilation, "groups": group}
    if usual(x, weight, bias, base_axis, channel_last, pad, stride, dilation):
        try:
            return op.convolution(x, weight, bias, **params)
        except (RuntimeError, ValueError):
            pass  # the checks below raise nnabla's error
    _check_group("convolution", group)
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
    # nnabla rounds towards 0: a kernel that exceeds the image by less than a stride has one position, and reads zeros
    # outside the image.
    sizes = [1 if -s < r < 0 else r // s + 1 for r, s in zip(rests, stride, strict=True)]
    check_lengths("convolution", "the result's spatial axes", sizes, x, weight)
    if min(rests, default=0) < 0:
        params["outsize"] = sizes
    w = channels_first(weight) if channel_last else weight
    return on_images(lambda image: op.convolution(image, w, bias, **params), x, base_axis, channel_last)


@documented(CONVOLUTION)
def convolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    base_axis: int = 1,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    channel_last: bool = False,
    **more: Any,
) -> Array:
    """Convolution (in fact cross-correlation) of images with kernels, over one to three spatial axes.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(9.0).reshape(1, 1, 3, 3))
        >>> w = nn.NdArray.from_numpy_array(np.ones((1, 1, 2, 2)))
        >>> F.convolution(x, w).data
        array([[[[ 8., 12.],
                 [20., 24.]]]], dtype=float32)
        >>> F.convolution(x, w, pad=(1, 1), stride=(2, 2)).shape
        (1, 1, 2, 2)
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
    _check_group("deconvolution", group)
    if x.ndim == 0:
        raise RuntimeError("deconvolution: x must have axes for samples, channels and space, not the shape ()")
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


@documented(CONVOLUTION)
def deconvolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    base_axis: int = 1,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    channel_last: bool = False,
    output_padding: Sequence[int] | None = None,
    **more: Any,
) -> Array:
    """Transposed convolution: the gradient of a convolution with respect to its image.

    Args:
        weight: kernels (channels, maps / group, *kernel).
        pad: number of pixels cut off the result at both ends of each spatial axis; None: not at all.
        stride: the distance between neighbouring kernels in the result along each spatial axis; None: 1.
        dilation: the distance between the pixels that a kernel writes along each spatial axis; None: 1.
        output_padding: number of additional pixels at the end of each spatial axis of the result, less than `stride`;
            None: 0.

    Returns:
        Array (*samples, maps, *size'), or (*samples, *size', maps) with `channel_last`, size' being stride * (size - 1)
        + dilation * (kernel - 1) + 1 - 2 * pad + output_padding.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[[[1.0, 2.0]]]]))
        >>> w = nn.NdArray.from_numpy_array(np.ones((1, 1, 1, 2)))
        >>> F.deconvolution(x, w).data
        array([[[[1., 3., 2.]]]], dtype=float32)
        >>> F.deconvolution(x, w, stride=(1, 2), output_padding=(0, 1)).data
        array([[[[1., 1., 2., 2., 0.]]]], dtype=float32)
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


@documented(CONVOLUTION)
def depthwise_convolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    base_axis: int = 1,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    multiplier: int = 1,
    **more: Any,
) -> Array:
    """Depthwise convolution: each channel is convolved with its own kernels.

    Args:
        weight: kernels (channels * multiplier, *kernel).
        bias: a number for each map, (channels * multiplier,).
        multiplier: number of kernels of each channel.

    Returns:
        Array (*samples, channels * multiplier, *positions).

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(1, 2, 3))
        >>> F.depthwise_convolution(x, nn.NdArray.from_numpy_array(np.array([[1.0, 1.0], [1.0, -1.0]]))).data
        array([[[ 1.,  3.],
                [-1., -1.]]], dtype=float32)
    """
    return _depthwise_convolution(
        x, weight, bias, base_axis, *placement(x, base_axis, pad, stride, dilation), multiplier, **more
    )


@function("DepthwiseDeconvolution", "x, weight, bias?", primitive=True)
def _depthwise_deconvolution(x, weight, bias=None, base_axis=1, pad=None, stride=None, dilation=None, divisor=1):
    _check_group("depthwise_deconvolution", divisor, "divisor")
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


@documented(CONVOLUTION)
def depthwise_deconvolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    base_axis: int = 1,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    divisor: int = 1,
    **more: Any,
) -> Array:
    """Transposed depthwise convolution, in which groups of neighbouring channels are summed.

    Args:
        weight: kernels (channels, *kernel).
        bias: a number for each map, (channels / divisor,).
        pad: number of pixels cut off the result at both ends of each spatial axis; None: not at all.
        stride: the distance between neighbouring kernels in the result along each spatial axis; None: 1.
        dilation: the distance between the pixels that a kernel writes along each spatial axis; None: 1.
        divisor: number of neighbouring channels that are summed to one.

    Returns:
        Array (*samples, channels / divisor, *size'), for size' see `deconvolution`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(4.0).reshape(1, 2, 2))
        >>> w = nn.NdArray.from_numpy_array(np.ones((2, 2)))
        >>> F.depthwise_deconvolution(x, w, divisor=2).data
        array([[[2., 6., 4.]]], dtype=float32)
    """
    return _depthwise_deconvolution(
        x, weight, bias, base_axis, *placement(x, base_axis, pad, stride, dilation), divisor, **more
    )


# ---- kernels and positions that are inputs ----
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
    if mask is not None and mask.ndim == 1 and bias is None:  # without a mask, the bias comes fourth
        mask, bias = None, mask
    if channel_last:
        x, weight, offset = channels_first(x), channels_first(weight), channels_first(offset)
        mask = None if mask is None else channels_first(mask)
    _check_group(name, group)
    _check_group(name, deformable_group, "deformable_group")
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
        """From maps of the size of the image, the elements at the positions of the result's windows."""
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


@documented(CONVOLUTION)
def deformable_convolution(
    x: Array,
    weight: Array,
    offset: Array,
    mask: Array | None = None,
    bias: Array | None = None,
    base_axis: int = 1,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    deformable_group: int = 1,
    channel_last: bool = False,
    **more: Any,
) -> Array:
    """Deformable convolution: each pixel is read at a position that an input displaces (Dai et al., 2017; Zhu et al.,
    2018).

    Between pixels it interpolates bilinearly; outside the image it reads zeros.

    Args:
        x: images (batch, channels, height, width), computed in float32.
        offset: the displacements, (batch, deformable_group * kh * kw * 2, height, width), rows before columns.
        mask: factors of the pixels, (batch, deformable_group * kh * kw, height, width).
        base_axis: the axis of the channels: 1 or -3.
        deformable_group: number of groups of channels, each with its own displacements.
        channel_last: whether the channels are the last axis of all arrays but `bias`.

    Returns:
        Array (batch, maps, *positions), or (batch, *positions, maps) with `channel_last`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(9.0).reshape(1, 1, 3, 3))
        >>> w = nn.NdArray.from_numpy_array(np.ones((1, 1, 1, 1)))
        >>> offset = nn.NdArray.from_numpy_array(np.full((1, 2, 3, 3), 0.5))
        >>> F.deformable_convolution(x, w, offset).data[0, 0]
        array([[2.  , 3.  , 1.75],
               [5.  , 6.  , 3.25],
               [3.25, 3.75, 2.  ]], dtype=float32)
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
def adaptive_separable_convolution(x: Array, vertical_kernel: Array, horizontal_kernel: Array) -> Array:
    """Filters each pixel with its own kernel, which is the product of a column and a row (Niklaus et al., 2017).

    Args:
        x: images (batch, channels, height, width), computed in float32.
        vertical_kernel: the columns, (batch, kv, height', width'), for at least as many pixels as the result has.
        horizontal_kernel: the rows, (batch, kh, height', width'), for at least as many pixels as the result has.

    Returns:
        Array (batch, channels, height - kv + 1, width - kh + 1).

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(9.0).reshape(1, 1, 3, 3))
        >>> half = nn.NdArray.from_numpy_array(np.full((1, 2, 2, 2), 0.5))
        >>> F.adaptive_separable_convolution(x, half, half).data[0, 0]
        array([[2., 3.],
               [5., 6.]], dtype=float32)
    """
    if not x.ndim == vertical_kernel.ndim == horizontal_kernel.ndim == 4:
        raise RuntimeError(
            "adaptive_separable_convolution: x and both kernels must have 4 axes, not shapes "
            f"{tuple(x.shape)}, {tuple(vertical_kernel.shape)} and {tuple(horizontal_kernel.shape)}"
        )
    kv, kh = vertical_kernel.shape[1], horizontal_kernel.shape[1]
    height, width = x.shape[2] - kv + 1, x.shape[3] - kh + 1
    for what, kernel in (("vertical_kernel", vertical_kernel), ("horizontal_kernel", horizontal_kernel)):
        fits = all(
            low <= n <= high for low, n, high in zip((height, width), kernel.shape[2:], x.shape[2:], strict=True)
        )
        if kernel.shape[0] != x.shape[0] or not fits or height <= 0 or width <= 0:
            raise RuntimeError(
                f"adaptive_separable_convolution: {what} of shape {tuple(kernel.shape)} does not fit to x of shape "
                f"{tuple(x.shape)}: the result would have height {height} and width {width}"
            )
    columns = op.expand_dims(horizontal_kernel[:, :, :height, :width], axis=1)
    y = None
    for j in range(kv):
        row = op.im2col(x[:, :, j : j + height], ksize=(1, kh))
        row = op.reshape(row, shape=(x.shape[0], x.shape[1], kh, height, width))
        part = op.sum(row * columns, axis=(2,)) * vertical_kernel[:, j : j + 1, :height, :width]
        y = part if y is None else y + part
    return y
