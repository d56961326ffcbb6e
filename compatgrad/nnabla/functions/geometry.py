"""Functions that resize images, or sample them along grids and flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compatgrad.core.kept_tensors import keep
from compatgrad.core.resampling import cubic, linear
from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions._checks import several

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["affine_grid", "interpolate", "onnx_resize", "warp_by_flow", "warp_by_grid"]

Taps = tuple[torch.Tensor, torch.Tensor | None] | None  # (index, weight), each (taps, results); None keeps the axis


def _taps(index: Any, weight: Any = None) -> Taps:
    return torch.tensor(np.array(index), dtype=torch.int64), None if weight is None else torch.tensor(np.array(weight))


def _resampled(x: Any, axis: int, taps: Taps) -> Any:
    return x if taps is None else op.resample(x, axis=axis, index=taps[0], weight=taps[1])


# ---- interpolation ------------------------------------------------------------------------------------------
@keep(256)
def _interpolation(size: int, out: int, mode: str, align_corners: bool, half_pixel: bool, nn: bool) -> Taps:
    """The elements of an axis of length `size`, and their weights, from which each of `out` elements is computed."""
    i = np.arange(out, dtype=np.float32)
    if nn:
        scale = np.float32(size) / np.float32(out)
    elif out <= 1:
        scale = np.float32(0)
    else:
        scale = np.float32(size - 1) / np.float32(out - 1) if align_corners else np.float32(size) / np.float32(out)
    half = np.float32(0.5)
    where = scale * (i + half) if nn else np.maximum(0, scale * (i + half) - half) if half_pixel else scale * i
    left = np.minimum(where.astype(np.int64), size - 1)
    if mode == "nearest" or not (where - left).any():
        return None if size == out and (left == np.arange(out)).all() else _taps([left])
    share = where - left.astype(np.float32)
    return _taps([left, np.minimum(left + 1, size - 1)], linear(share))


def _interpolation_plan(
    shape: Sequence[int],
    output_size: Sequence[int],
    mode: str,
    align_corners: bool,
    half_pixel: bool,
    half_pixel_for_nn: bool,
    channel_last: bool,
) -> tuple[int, list[Taps]]:
    """The first axis that `interpolate` changes, and the taps of this axis and of each later one."""
    n = len(output_size)
    if not 1 <= n <= 3:
        raise RuntimeError(f"interpolate: output_size must have 1 to 3 entries, not {tuple(output_size)}")
    if len(shape) < n + channel_last:
        raise RuntimeError(f"interpolate: x of shape {tuple(shape)} has fewer than {n} spatial axes")
    if mode not in ("linear", "nearest"):
        raise RuntimeError(f"interpolate: mode must be 'linear' or 'nearest', not {mode!r}")
    if align_corners and half_pixel:
        raise RuntimeError("interpolate: align_corners and half_pixel must not both be True")
    first = len(shape) - n - channel_last
    how = mode, bool(align_corners), bool(half_pixel), bool(half_pixel_for_nn and mode == "nearest")
    return first, [_interpolation(shape[first + k], output_size[k], *how) for k in range(n)]


@function("Interpolate", "x")
def _interpolate(
    x, output_size, mode="linear", align_corners=True, half_pixel=False, half_pixel_for_nn=False, channel_last=False
):
    """`interpolate` as one function of the graph."""
    first, plan = _interpolation_plan(
        x.shape, output_size, mode, align_corners, half_pixel, half_pixel_for_nn, channel_last
    )
    if not any(plan):
        return op.identity(x)
    for k in reversed(range(len(plan))):
        x = _resampled(x, first + k, plan[k])
    return x


@documented()
def interpolate(
    x: Array,
    scale: Sequence[float] | None = None,
    output_size: Sequence[int] | None = None,
    mode: str = "linear",
    align_corners: bool = False,
    half_pixel: bool = False,
    half_pixel_for_nn: bool = False,
    channel_last: bool = False,
) -> Array:
    """Resizes the last axes of images. From m to n elements, element i reads at i * (m - 1) / (n - 1) with
    `align_corners`, at (i + 0.5) * m / n - 0.5 with `half_pixel`, else at i * m / n.

    Args:
        x: (..., *size), or (..., *size, channels) with `channel_last`, computed in float32.
        scale: factor for each of these 1 to 3 axes; the new lengths are rounded down.
        output_size: the new lengths, instead of `scale`.
        mode: "linear", or "nearest", which rounds down.
        align_corners: whether the first and the last elements keep their positions.
        half_pixel: whether elements lie in the centres of pixels.
        half_pixel_for_nn: whether "nearest" reads at (i + 0.5) * m / n.
        channel_last: whether the channels are the last axis.

    Returns:
        Array of the shape of `x`, except for these axes.

    Raises:
        RuntimeError: the mode is unknown, `align_corners` and `half_pixel` are both set, or the number of axes does
            not fit.
        TypeError: `x` is neither a Variable nor an NdArray, or `scale` is a single number.
        ValueError: neither `scale` nor `output_size` is given.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[0.0, 2.0]]))
        >>> F.interpolate(x, scale=(2,), half_pixel=True).data
        array([[0. , 0.5, 1.5, 2. ]], dtype=float32)
        >>> F.interpolate(x, output_size=(3,), align_corners=True).data
        array([[0., 1., 2.]], dtype=float32)
    """
    if output_size is None:
        if scale is None:
            raise ValueError("interpolate: either scale or output_size must be given")
        end, scale = len(x.shape) - bool(channel_last), several("interpolate: scale", scale, "numbers")
        if len(scale) > end:
            raise RuntimeError(f"interpolate: x of shape {tuple(x.shape)} has fewer than {len(scale)} spatial axes")
        output_size = [floor(s * n) for s, n in zip(scale, x.shape[end - len(scale) : end], strict=True)]
    return _interpolate(x, output_size, mode, align_corners, half_pixel, half_pixel_for_nn, channel_last)


# ---- ONNX's resize ------------------------------------------------------------------------------------------
def _coordinates(size: int, out: int, scale: float, mode: str, begin: float, end: float) -> np.ndarray:
    """The positions in an axis of length `size` at which each of `out` elements reads."""
    f = np.float32
    i, s, half = np.arange(out, dtype=f), f(scale), f(0.5)
    if s == 1:
        return i
    if mode == "asymmetric":
        return i / s
    if mode == "tf_half_pixel_for_nn":
        return (i + half) / s
    if mode == "align_corners":
        return i * f(size - 1) / f(out - 1) if out > 1 else i * 0
    if mode == "tf_crop_and_resize":
        last, b, e = f(size - 1), f(begin), f(end)
        return b * last + i * (e - b) * last / f(out - 1) if out > 1 else i * 0 + half * (b + e) * last
    if mode == "pytorch_half_pixel" and out <= 1:
        return i * 0
    return (i + half) / s - half


_NEAREST: dict[str, Callable] = {
    "round_prefer_floor": lambda x: np.ceil(x - np.float32(0.5)),
    "round_prefer_ceil": lambda x: np.floor(x + np.float32(0.5)),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _cubic(x: np.ndarray, a: np.float32, size: int, exclude_outside: bool) -> tuple[list, list]:
    """The four elements around each coordinate and their weights."""
    left = np.floor(x).astype(np.int64)
    t = x - np.floor(x)
    index = [left - 1, left, left + 1, left + 2]
    weight = cubic(t, a)
    if exclude_outside:
        weight = [np.where((0 <= p) & (p < size), w, 0) for p, w in zip(index, weight, strict=True)]
        total = sum(weight)
        weight = [w / total for w in weight]
    return index, weight


@keep(256)
def _resizing(
    size: int,
    out: int,
    scale: float,
    mode: str,
    coordinates: str,
    nearest: str,
    a: float,
    exclude_outside: bool,
    begin: float,
    end: float,
) -> Taps:
    x = _coordinates(size, out, scale, coordinates, begin, end).astype(np.float32)
    if mode == "nearest":
        index, weight = [_NEAREST[nearest](x).astype(np.int64)], [np.ones_like(x)]
    elif mode == "linear":
        left = np.floor(x).astype(np.int64)
        share = x - np.clip(left, 0, size - 1)
        index, weight = [left, left + 1], linear(share)
    else:
        index, weight = _cubic(x, np.float32(a), size, exclude_outside)
    if coordinates == "tf_crop_and_resize":
        inside = (0 <= x) & (x <= size - 1)
        weight = [np.where(inside, w, 0) for w in weight]
    return _taps(np.clip(index, 0, size - 1), np.array(weight, dtype=np.float32))


@function("ONNXResize", "x")
def onnx_resize(
    x: Array,
    roi: Sequence[float] = (),
    scales: Sequence[float] = (),
    sizes: Sequence[int] = (),
    mode: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: bool = 0,
    extrapolation_value: float = 0.0,
    nearest_mode: str = "round_prefer_floor",
) -> Array:
    """Resizes arrays, like ONNX's Resize.

    Args:
        x: any shape, computed in float32.
        roi: with "tf_crop_and_resize" the parts of the axes that are read: the starts of all axes, then the ends of all
            axes, from 0 to 1.
        scales: factor for each axis; only the last 1 to 3 axes may change.
        sizes: the new lengths of all axes, instead of `scales`.
        mode: "nearest", "linear" or "cubic".
        coordinate_transformation_mode: "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
            "tf_half_pixel_for_nn" or "tf_crop_and_resize", as ONNX defines them.
        cubic_coeff_a: the coefficient a of the cubic interpolation.
        exclude_outside: whether "cubic" ignores elements outside the border.
        extrapolation_value: the value outside `x` with "tf_crop_and_resize".
        nearest_mode: rounding of "nearest": "round_prefer_floor", "round_prefer_ceil", "floor" or "ceil".

    Returns:
        Array of the new lengths.

    Raises:
        RuntimeError: a mode is unknown, both or neither of `sizes` and `scales` are given, or the numbers of axes do
            not fit.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[0.0, 2.0]]))
        >>> F.onnx_resize(x, sizes=(1, 4), mode="linear").data
        array([[0. , 0.5, 1.5, 2. ]], dtype=float32)
    """
    name = "onnx_resize"
    modes = (
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_half_pixel_for_nn",
        "tf_crop_and_resize",
    )
    for key, value, known in (
        ("coordinate_transformation_mode", coordinate_transformation_mode, modes),
        ("nearest_mode", nearest_mode, tuple(_NEAREST)),
        ("mode", mode, ("nearest", "linear", "cubic")),
    ):
        if value not in known:
            raise RuntimeError(f"{name}: {key} must be one of {', '.join(known)}, not {value!r}")
    if bool(len(sizes)) == bool(len(scales)):
        raise RuntimeError(f"{name}: one of sizes and scales must be given, not sizes={sizes}, scales={scales}")
    given = "sizes" if len(sizes) else "scales"
    if len(sizes or scales) != x.ndim:
        raise RuntimeError(f"{name}: {given} must have an entry for each of {x.ndim} axes, not {len(sizes or scales)}")
    if len(scales):
        factors = [float(np.float32(s)) for s in scales]
        sizes = [int(np.floor(np.float32(n) * np.float32(s))) for n, s in zip(x.shape, scales, strict=True)]
    else:
        factors = [float(np.float32(m) / np.float32(n)) for n, m in zip(x.shape, sizes, strict=True)]
    first = next((k for k, s in enumerate(factors) if s != 1), x.ndim)
    if not 1 <= x.ndim - first <= 3:
        raise RuntimeError(f"{name}: 1 to 3 of the last axes may change, not {x.ndim - first}")
    crop = coordinate_transformation_mode == "tf_crop_and_resize"
    if crop and len(roi) != 2 * x.ndim:
        raise RuntimeError(f"{name}: roi must have {2 * x.ndim} entries, not {len(roi)}")
    if crop and any((roi[k], roi[x.ndim + k]) != (0, 1) for k in range(first)):
        raise RuntimeError(f"{name}: roi must be 0 to 1 for axes whose size stays, not {roi}")

    def resized(v):
        for k in reversed(range(first, x.ndim)):
            begin, end = (float(roi[k]), float(roi[x.ndim + k])) if crop else (0.0, 1.0)
            taps = _resizing(
                x.shape[k],
                int(sizes[k]),
                factors[k],
                mode,
                coordinate_transformation_mode,
                nearest_mode,
                float(cubic_coeff_a),
                bool(exclude_outside),
                begin,
                end,
            )
            v = _resampled(v, k, taps)
        return v

    y = resized(x)
    if not crop or extrapolation_value == 0:
        return y
    return y + (1 - resized(x * 0 + 1)) * extrapolation_value


# ---- grids --------------------------------------------------------------------------------------------------
@function("AffineGrid", "theta", primitive=True)
def affine_grid(theta: Array, size: Sequence[int], align_corners: bool = False) -> Array:
    """The position in a source image for each pixel of a target, computed by an affine map (Jaderberg et al., 2015).
    For an axis of one pixel the coordinate is 0; nnabla returns NaN.

    Args:
        theta: the maps: (batch, 2, 3), or (batch, 3, 4) for volumes.
        size: the lengths of the target: (height, width) or (depth, height, width).
        align_corners: whether the target's coordinates -1 ... 1 are the centers of the outermost pixels, instead of
            their outer edges.

    Returns:
        Array (batch, *size, axes), the last axis first.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> theta = nn.NdArray.from_numpy_array(np.array([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]]))
        >>> F.affine_grid(theta, (1, 2), align_corners=True).data
        array([[[[-0.5,  0. ],
                 [ 1.5,  0. ]]]], dtype=float32)
    """
    n = len(size)
    if n not in (2, 3):
        raise RuntimeError(f"affine_grid: size must have 2 or 3 entries, not {tuple(size)}")
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise RuntimeError(
            f"affine_grid: the shape of theta must be (B, {n}, {n + 1}) for {n}D, not {tuple(theta.shape)}"
        )
    return op.affine_grid(theta, size=list(size), align_corners=align_corners)


@function("WarpByGrid", "x, grid", primitive=True)
def warp_by_grid(
    x: Array,
    grid: Array,
    mode: str = "linear",
    padding_mode: str = "zero",
    align_corners: bool = False,
    channel_last: bool = False,
) -> Array:
    """Samples images at the positions of a grid (Jaderberg et al., 2015).

    Args:
        x: images (batch, channels, height, width) or volumes (batch, channels, depth, height, width), channels last
            with `channel_last`; computed in float32.
        grid: (batch, *size, axes), the result of `affine_grid`.
        mode: "linear" or "nearest".
        padding_mode: values outside the image: "zero", "repeat" (the outermost pixels) or "reflect".
        align_corners: whether the coordinates -1 ... 1 are the centers of the outermost pixels, instead of their outer
            edges.
        channel_last: whether the channels are the last axis.

    Returns:
        Array (batch, channels, *size), or (batch, *size, channels) with `channel_last`.

    Raises:
        RuntimeError: the shapes do not fit, or a mode is unknown.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[[[1.0, 2.0], [3.0, 4.0]]]]))
        >>> grid = nn.NdArray.from_numpy_array(np.array([[[[0.0, 0.0], [1.0, 1.0]]]]))
        >>> F.warp_by_grid(x, grid, align_corners=True).data
        array([[[[2.5, 4. ]]]], dtype=float32)
    """
    n = x.ndim - 2
    if n not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != n:
        raise RuntimeError(
            "warp_by_grid: x must have 4 or 5 axes and grid as many, the last of 2 or 3, not shapes "
            f"{tuple(x.shape)} and {tuple(grid.shape)}"
        )
    if x.shape[0] != grid.shape[0]:
        raise RuntimeError(f"warp_by_grid: batch sizes of x and grid differ ({x.shape[0]} != {grid.shape[0]})")
    if mode not in ("linear", "nearest"):
        raise RuntimeError(f"warp_by_grid: mode must be 'linear' or 'nearest', not {mode!r}")
    if padding_mode not in ("zero", "repeat", "reflect"):
        raise RuntimeError(f"warp_by_grid: padding_mode must be 'zero', 'repeat' or 'reflect', not {padding_mode!r}")
    return op.sample_grid(
        x, grid, mode=mode, padding=padding_mode, align_corners=align_corners, channel_last=channel_last
    )


@function("WarpByFlow", "data, flow", primitive=True)
def warp_by_flow(data: Array, flow: Array) -> Array:
    """Warps images by a flow: pixel (y, x) of the result is the one at (y + flow[1], x + flow[0]).

    Between pixels it interpolates linearly; outside the image the outermost pixels are repeated.

    Args:
        data: images (batch, channels, height, width), computed in float32.
        flow: the displacements in pixels, to the right and down, (batch, 2, height, width).

    Returns:
        Array of the shape of `data`.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[[[1.0, 2.0, 4.0]]]]))
        >>> flow = nn.NdArray.from_numpy_array(np.stack([np.full((1, 3), 0.5), np.zeros((1, 3))])[None])
        >>> F.warp_by_flow(x, flow).data
        array([[[[1.5, 3. , 4. ]]]], dtype=float32)
    """
    if data.ndim != 4 or flow.ndim != 4 or tuple(flow.shape) != (data.shape[0], 2, *data.shape[2:]):
        raise RuntimeError(
            "warp_by_flow: data must be (batch, channels, height, width) and flow (batch, 2, height, "
            f"width), not of shapes {tuple(data.shape)} and {tuple(flow.shape)}"
        )
    return op.sample_grid(data, flow, padding="repeat", axis=1, flow=True)
