"""Pooling over windows and regions of images, and unpooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions._checks import several
from compatgrad.nnabla.functions._images import channels_first, channels_last

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = [
    "average_pooling",
    "global_average_pooling",
    "max_pooling",
    "max_pooling_backward",
    "roi_align",
    "sum_pooling",
    "unpooling",
]

# The shared sections of the docstrings of functions of windows.
_SHARED = """
Args:
    x: (..., *size), or (..., *size, channels) with `channel_last`, computed in float32.
    kernel: the size of a window: one number for each axis that is pooled, 1 to 3 numbers.
    stride: the distance between windows along each of these axes; None: the size of a window.
    ignore_border: whether to leave out windows that reach beyond the padded image.
    pad: number of elements added at both ends of each of these axes; None: 0.
    channel_last: whether the channels are the last axis.

Returns:
    Array of the shape of `x`, with the number of windows instead of `size`.

Raises:
    RuntimeError: the arguments do not fit `x` or one another.
    TypeError: an input is neither a Variable nor an NdArray, or `kernel`, `stride` or `pad` is a single number.
"""


def _pooled(
    name: str, x: Any, kernel: Sequence[int], stride: Sequence[int], ignore_border: bool, pad: Sequence[int], last: bool
) -> tuple[int, ...]:
    """The number of windows along each spatial axis. Raises RuntimeError if it is 0, or if arguments do not
    fit."""
    n = len(kernel)
    if not 1 <= n <= 3 or len(x.shape) < n + last:
        raise RuntimeError(
            f"{name}: kernel must have 1 to 3 entries and x at least as many spatial axes, not "
            f"{tuple(kernel)} for x of shape {tuple(x.shape)}"
        )
    for key, value in (("stride", stride), ("pad", pad)):
        if len(value) != n:
            raise RuntimeError(f"{name}: {key} must have {n} entries, as kernel has, not {tuple(value)}")
    for key, value in (("kernel", kernel), ("stride", stride)):
        if any(v < 1 for v in value):
            raise RuntimeError(f"{name}: {key} must be positive, not {tuple(value)}")
    first = len(x.shape) - n - last
    # Without ignore_border a window counts if its first element is not after the last element of the image.
    r = tuple(
        (x.shape[first + k] + pad[k] - (kernel[k] - pad[k] if ignore_border else 1)) // stride[k] + 1 for k in range(n)
    )
    if any(v <= 0 for v in r):
        raise RuntimeError(
            f"{name}: the result's spatial axes would be {r} for x of shape {tuple(x.shape)} "
            f"with kernel={tuple(kernel)}, stride={tuple(stride)}, pad={tuple(pad)}"
        )
    return r


def _cut(
    x: Any, kernel: Sequence[int], stride: Sequence[int], ignore_border: bool, pad: Sequence[int], last: bool
) -> Sequence[int]:
    """The kernel, cut to the length of the padded image along axes where it exceeds that by less than a stride. There,
    nnabla, which rounds the number of windows towards 0, has one window.
    """
    first = len(x.shape) - len(kernel) - last
    if not ignore_border or first < 0 or not len(kernel) == len(stride) == len(pad):
        return kernel
    rooms = [size + 2 * p for size, p in zip(x.shape[first:], pad, strict=False)]
    return tuple(room if room < k < room + s else k for room, k, s in zip(rooms, kernel, stride, strict=True))


def _on_planes(f: Callable, x: Any, n: int, last: bool, *others: Any) -> Any:
    """f(x, *others) for an `f` of arrays (samples, channels, *space) with `n` spatial axes; `x` and `others` may have
    other leading axes, and channels last.
    """
    if x.ndim == n + 2 and not last:
        return f(x, *others)
    lead = x.shape[: x.ndim - n - last]

    def plain(v):
        if last:
            return channels_first(op.reshape(v, shape=(prod(lead), *v.shape[len(lead) :])))
        return op.reshape(v, shape=(prod(lead), 1, *v.shape[len(lead) :]))

    y = f(plain(x), *map(plain, others))
    y = channels_last(y) if last else y
    return op.reshape(y, shape=(*lead, *y.shape[1 if last else 2 :]))


def _usual(
    x: Any, kernel: Sequence[int], stride: Sequence[int], ignore_border: bool, pad: Sequence[int], last: bool
) -> bool:
    """Whether the arguments can be passed to the engine's op unchanged; the op then checks the windows itself."""
    n = len(kernel)
    return ignore_border and not last and x.ndim == n + 2 and len(stride) == n == len(pad)


def _window(kernel: Any, stride: Any, pad: Any) -> tuple:
    """The tuple (kernel, stride, pad), in which None is replaced by the kernel and by 0."""
    kernel = several("kernel", kernel)
    stride = kernel if stride is None else several("stride", stride)
    return kernel, stride, (0,) * len(kernel) if pad is None else several("pad", pad)


def _max_pool(
    x: Any,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    out: Sequence[int],
    ignore_border: bool,
    **more: Any,
) -> tuple:
    """Max pooling of (samples, channels, *space). Returns the result, the spatial shape of the op's input, and the op's
    parameters."""
    size = x.shape[2:]
    covers_all = all(k == s + p for k, s, p in zip(kernel, stride, pad, strict=True))  # for any size of the image
    if ignore_border or covers_all:
        geometry = {"ksize": kernel, "stride": stride, "pad": pad, "cover_all": not ignore_border}
    else:
        ends = [max(0, (out[k] - 1) * stride[k] + kernel[k] - pad[k] - size[k]) for k in range(len(out))]
        x = op.pad(
            x, pad_width=(0, 0, 0, 0, *(v for pair in zip(pad, ends, strict=True) for v in pair)), value=-float("inf")
        )
        geometry = {"ksize": kernel, "stride": stride, "cover_all": False}
    return op.max_pooling(x, **geometry, **more), x.shape[2:], geometry


@function("MaxPooling", "x", primitive=True)
def _max_pooling(x, kernel, stride=None, ignore_border=True, pad=None, channel_last=False):
    if _usual(x, kernel, stride, ignore_border, pad, channel_last):
        try:
            return op.max_pooling(x, ksize=kernel, stride=stride, pad=pad, cover_all=False)
        except (RuntimeError, ValueError):
            pass  # the checks below raise nnabla's error
    kernel = _cut(x, kernel, stride, ignore_border, pad, channel_last)
    out = _pooled("max_pooling", x, kernel, stride, ignore_border, pad, channel_last)
    return _on_planes(lambda v: _max_pool(v, kernel, stride, pad, out, ignore_border)[0], x, len(kernel), channel_last)


@documented(_SHARED)
def max_pooling(
    x: Array,
    kernel: Sequence[int],
    stride: Sequence[int] | None = None,
    ignore_border: bool = True,
    pad: Sequence[int] | None = None,
    channel_last: bool = False,
    **more: Any,
) -> Array:
    """The largest element of each window over the last axes. The gradient goes to the first one of equal elements.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(12.0).reshape(1, 1, 3, 4))
        >>> F.max_pooling(x, (2, 2)).data
        array([[[[5., 7.]]]], dtype=float32)
        >>> F.max_pooling(x, (2, 2), ignore_border=False).shape
        (1, 1, 2, 2)
    """
    kernel, stride, pad = _window(kernel, stride, pad)
    return _max_pooling(x, kernel, stride, ignore_border, pad, channel_last, **more)


@function("MaxPoolingBackward", "dy, x")
def _max_pooling_backward(dy, x, kernel, stride=None, ignore_border=True, pad=None, channel_last=False):
    kernel = _cut(x, kernel, stride, ignore_border, pad, channel_last)
    out = _pooled("max_pooling_backward", x, kernel, stride, ignore_border, pad, channel_last)
    n = len(kernel)

    def spread(image, gy):
        (_, at), size, geometry = _max_pool(image, kernel, stride, pad, out, ignore_border, return_indices=True)
        geometry.pop("cover_all")
        gx = op.max_pooling_grad(gy, at, insize=size, **geometry)
        if size == image.shape[2:]:
            return gx
        return gx[(slice(None), slice(None), *(slice(pad[k], pad[k] + image.shape[2 + k]) for k in range(n)))]

    return _on_planes(spread, x, n, channel_last, dy)


@documented(_SHARED)
def max_pooling_backward(
    dy: Array,
    x: Array,
    kernel: Sequence[int],
    stride: Sequence[int] | None = None,
    ignore_border: bool = True,
    pad: Sequence[int] | None = None,
    channel_last: bool = False,
    **more: Any,
) -> Array:
    """The gradient of `max_pooling` with respect to `x`: each element of `dy` is added at the largest element of its
    window.

    Args:
        dy: the gradient of the result of `max_pooling`, of the same shape.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(4.0).reshape(1, 1, 2, 2))
        >>> F.max_pooling_backward(nn.NdArray.from_numpy_array(np.array([[[[5.0]]]])), x, (2, 2)).data
        array([[[[0., 0.],
                 [0., 5.]]]], dtype=float32)
    """
    kernel, stride, pad = _window(kernel, stride, pad)
    return _max_pooling_backward(dy, x, kernel, stride, ignore_border, pad, channel_last, **more)


def _windows(
    name: str,
    x: Any,
    kernel: Sequence[int],
    stride: Sequence[int],
    ignore_border: bool,
    pad: Sequence[int],
    last: bool,
    divisor: str,
) -> Any:
    """The sum of each window, divided by `divisor`."""
    kernel = _cut(x, kernel, stride, ignore_border, pad, last)
    params = {"ksize": kernel, "stride": stride, "pad": pad, "ignore_border": ignore_border, "divisor": divisor}
    if not last and len(kernel) == len(stride) == len(pad):
        try:
            return op.window_pooling(x, **params)
        except (RuntimeError, ValueError):
            pass  # the checks below raise nnabla's error
    _pooled(name, x, kernel, stride, ignore_border, pad, last)
    return _on_planes(lambda v: op.window_pooling(v, **params), x, len(kernel), last)


@function("AveragePooling", "x", primitive=True)
def _average_pooling(x, kernel, stride=None, ignore_border=True, pad=None, channel_last=False, including_pad=True):
    return _windows(
        "average_pooling", x, kernel, stride, ignore_border, pad, channel_last, "padded" if including_pad else "image"
    )


@documented(_SHARED)
def average_pooling(
    x: Array,
    kernel: Sequence[int],
    stride: Sequence[int] | None = None,
    ignore_border: bool = True,
    pad: Sequence[int] | None = None,
    channel_last: bool = False,
    including_pad: bool = True,
    **more: Any,
) -> Array:
    """The mean of each window over the last axes. Elements outside the padding never count.

    Args:
        including_pad: whether elements of the padding count, as zeros.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(12.0).reshape(1, 1, 3, 4))
        >>> F.average_pooling(x, (2, 2)).data
        array([[[[2.5, 4.5]]]], dtype=float32)
    """
    kernel, stride, pad = _window(kernel, stride, pad)
    return _average_pooling(x, kernel, stride, ignore_border, pad, channel_last, including_pad, **more)


@function("SumPooling", "x", primitive=True)
def _sum_pooling(x, kernel, stride=None, ignore_border=True, pad=None, channel_last=False):
    return _windows("sum_pooling", x, kernel, stride, ignore_border, pad, channel_last, "none")


@documented(_SHARED)
def sum_pooling(
    x: Array,
    kernel: Sequence[int],
    stride: Sequence[int] | None = None,
    ignore_border: bool = True,
    pad: Sequence[int] | None = None,
    channel_last: bool = False,
    **more: Any,
) -> Array:
    """The sum of each window over the last axes.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(12.0).reshape(1, 1, 3, 4))
        >>> F.sum_pooling(x, (2, 2)).data
        array([[[[10., 18.]]]], dtype=float32)
    """
    kernel, stride, pad = _window(kernel, stride, pad)
    return _sum_pooling(x, kernel, stride, ignore_border, pad, channel_last, **more)


@function("GlobalAveragePooling", "x", primitive=True)
def global_average_pooling(x: Array) -> Array:
    """The mean of each channel.

    Args:
        x: (batch, channels, *size), computed in float32.

    Returns:
        Array (batch, channels, 1, 1).

    Raises:
        RuntimeError: `x` has less than two axes.

    Example:
        >>> F.global_average_pooling(nn.NdArray.from_numpy_array(np.arange(8.0).reshape(1, 2, 2, 2))).data.ravel()
        array([1.5, 5.5], dtype=float32)
    """
    if x.ndim < 2:
        raise RuntimeError(f"global_average_pooling: x must have at least 2 axes, not shape {tuple(x.shape)}")
    y = op.mean(x, axis=tuple(range(2, x.ndim)), keepdims=True) if x.ndim > 2 else x
    return y if x.ndim == 4 else op.reshape(y, shape=(*x.shape[:2], 1, 1))


@function("Unpooling", "x", primitive=True)
def unpooling(x: Array, kernel: Sequence[int], channel_last: bool = False) -> Array:
    """Repeats each element along the last axes.

    Args:
        x: (..., *size), or (..., *size, channels) with `channel_last`.
        kernel: number of repetitions along each of these axes.
        channel_last: whether the channels are the last axis.

    Returns:
        Array of the shape of `x`, with the lengths of `size` multiplied by `kernel`.

    Raises:
        RuntimeError: `kernel` has more numbers than `x` has axes.

    Example:
        >>> F.unpooling(nn.NdArray.from_numpy_array(np.arange(2.0).reshape(1, 2)), (2, 2)).data
        array([[0., 0., 1., 1.],
               [0., 0., 1., 1.]], dtype=float32)
    """
    n = len(kernel)
    first = x.ndim - n - bool(channel_last)
    if first < 0:
        raise RuntimeError(
            f"unpooling: kernel must have at most {x.ndim} entries for x of shape {tuple(x.shape)}, not {tuple(kernel)}"
        )
    if 1 <= n <= 3 and not channel_last:
        return op.repeat_blocks(x, kernel=kernel)
    for k in range(n):
        x = op.repeat(x, repeats=(kernel[k],), axis=first + k)
    return x if n else op.identity(x)


@function("RoiAlign", "input, boxes", primitive=True)
def roi_align(
    input: Array,
    boxes: Array,
    output_size: Sequence[int],
    spatial_scale: Sequence[float] = (1.0, 1.0),
    sampling_ratio: int = -1,
    channel_last: bool = False,
) -> Array:
    """RoIAlign: samples regions of images into maps of one size, by bilinear interpolation (He et al., 2017).

    Args:
        input: images (batch, channels, height, width), computed in float32, channels last with `channel_last`.
        boxes: (regions, 5), each the number of an image, x1, y1, x2, y2. They get no gradient.
        output_size: height and width of the result.
        spatial_scale: factors of the boxes' coordinates, (y, x).
        sampling_ratio: each element is the mean of sampling_ratio ** 2 samples; where it is not positive, of about one
            sample per pixel.
        channel_last: whether the channels are the last axis.

    Returns:
        Array (regions, channels, *output_size), or (regions, *output_size, channels) with `channel_last`.

    Raises:
        RuntimeError: the shapes do not fit, or an image does not exist.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(16.0).reshape(1, 1, 4, 4))
        >>> F.roi_align(x, nn.NdArray.from_numpy_array(np.array([[0.0, 0, 0, 4, 4]])), (2, 2)).data
        array([[[[ 2.5,  4.5],
                 [10.5, 12.5]]]], dtype=float32)
    """
    if input.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 5:
        raise RuntimeError(
            f"roi_align: input must have 4 axes and boxes the shape (regions, 5), not "
            f"{tuple(input.shape)} and {tuple(boxes.shape)}"
        )
    if len(output_size) != 2 or min(output_size) <= 0:
        raise RuntimeError(f"roi_align: output_size must be two positive numbers, not {tuple(output_size)}")
    if len(spatial_scale) != 2:
        raise RuntimeError(f"roi_align: spatial_scale must be two numbers, not {tuple(spatial_scale)}")
    params = {
        "output_size": output_size,
        "scale_y": spatial_scale[0],
        "scale_x": spatial_scale[1],
        "sampling_ratio": sampling_ratio,
    }
    if channel_last:
        return channels_last(op.roi_align(channels_first(input), boxes, **params))
    return op.roi_align(input, boxes, **params)
