"""Shared code of the functions of images: arguments of windows, and checks of shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from compatgrad.nnabla._declare import op
from compatgrad.nnabla.functions._checks import several

# The shared sections of the docstrings of convolutions.
CONVOLUTION = """
Args:
    x: images (*samples, channels, *size), computed in float32: the samples are the axes before `base_axis`, and 1 to 3
        axes follow the channels.
    weight: kernels (maps, channels / group, *kernel).
    bias: a number for each map, (maps,).
    base_axis: the axis of the channels, negative ones counted from the last.
    pad: number of zeros added at both ends of each spatial axis; None: 0.
    stride: the distance between the kernel's positions along each spatial axis; None: 1.
    dilation: the distance between the pixels that a kernel reads along each spatial axis; None: 1.
    group: the number of groups of channels and maps; each group is computed separately.
    channel_last: whether the channels are the last axis of `x`, `weight` and the result.

Returns:
    Array (*samples, maps, *positions), or (*samples, *positions, maps) with `channel_last`.

Raises:
    RuntimeError: the shapes do not fit, or an argument does not have a number for each spatial axis.
    TypeError: an input is neither a Variable nor an NdArray, or an argument is a single number instead of one for each
        spatial axis.
"""


def spatial_axes(x: Any, base_axis: int) -> int:
    """The number of axes of `x` after the samples and the channels."""
    return len(x.shape) - base_axis - 1 if base_axis >= 0 else -base_axis - 1


def placement(x: Any, base_axis: int, pad: Any, stride: Any, dilation: Any) -> tuple:
    """The tuple (pad, stride, dilation), in which None is replaced by 0, 1 and 1 for each axis."""
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

    `sizes`: arguments with one entry for each spatial axis; `channels`: actual and required values that concern
    channels, by name; `maps`: the number of channels of the result.
    """
    n = spatial_axes(x, base_axis)
    if n < 0 or len(kernel) != n:
        raise RuntimeError(
            f"{name}: weight of shape {tuple(weight.shape)} does not fit x of shape "
            f"{tuple(x.shape)} with base_axis={base_axis}, which has {n} spatial axes"
        )
    for key, value in sizes.items():
        if len(value) != n:
            raise RuntimeError(f"{name}: {key} must have {n} entries, one for each spatial axis, not {tuple(value)}")
        if key in ("stride", "dilation") and any(v < 1 for v in value):
            raise RuntimeError(f"{name}: {key} must be positive, not {tuple(value)}")
    for what, (given, expected) in channels.items():
        if given != expected:
            raise RuntimeError(
                f"{name}: {what} must be {expected}, not {given}; x has shape "
                f"{tuple(x.shape)}, weight {tuple(weight.shape)}"
            )
    if bias is not None and tuple(bias.shape) != (maps,):
        raise RuntimeError(f"{name}: bias must have shape ({maps},), not {tuple(bias.shape)}")


def usual(x: Any, weight: Any, bias: Any, base_axis: int, channel_last: bool, *sizes: Sequence[int]) -> bool:
    """Whether the arguments can be passed to the engine's op unchanged; the op then checks the lengths itself."""
    n = weight.ndim - 2
    return (
        base_axis == 1
        and not channel_last
        and x.ndim == n + 2
        and all(len(v) == n for v in sizes)
        and (bias is None or tuple(bias.shape) == weight.shape[:1])
    )


def check_lengths(name: str, what: str, lengths: Sequence[int], x: Any, weight: Any) -> None:
    """Raises RuntimeError if the result would have no elements along a spatial axis."""
    if any(n <= 0 for n in lengths):
        raise RuntimeError(
            f"{name}: {what} would be {tuple(lengths)} for x of shape {tuple(x.shape)} and "
            f"weight of shape {tuple(weight.shape)}"
        )


def channels_first(x: Any) -> Any:
    """Transposes (a, *space, c) to (a, c, *space)."""
    return op.transpose(x, axes=(0, x.ndim - 1, *range(1, x.ndim - 1)))


def channels_last(x: Any) -> Any:
    """Transposes (a, c, *space) to (a, *space, c)."""
    return op.transpose(x, axes=(0, *range(2, x.ndim), 1))


def on_images(f: Callable, x: Any, base_axis: int, last: bool) -> Any:
    """f(x) for an `f` of arrays (samples, channels, *space); `x` may have any number of axes for samples, and channels
    last."""
    if x.ndim == 0:
        raise RuntimeError("x must have axes for samples, channels and space, not the shape ()")
    base = base_axis % x.ndim
    if base == 1 and not last:
        return f(x)
    samples = x.shape[:base]
    if base != 1:
        x = op.reshape(x, shape=(prod(samples), *x.shape[base:]))
    y = channels_last(f(channels_first(x))) if last else f(x)
    return y if base == 1 else op.reshape(y, shape=(*samples, *y.shape[1:]))
