"""Resizing of images, with the pixels that OpenCV takes.

Each pixel of the result is a weighted sum of a few rows, then of a few columns: an array of their indices and one of
their weights, both of shape (number of taps, length of the result), say which.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core.kept_tensors import keep
from compatgrad.core.resampling import cubic, linear

NEAREST, LINEAR, CUBIC, AREA, LANCZOS, LINEAR_EXACT = range(6)

Taps = tuple[np.ndarray, np.ndarray]
_resample, _resize_bytes = _C.op("resample"), _C.op("resize_bytes")


def _positions(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """For each pixel of the result: the last pixel whose centre is not beyond its centre, and their distance."""
    at = ((np.arange(m) + 0.5) * (n / m) - 0.5).astype(np.float32)
    below = np.floor(at).astype(np.int64)
    return below, (at - below).astype(np.float32)


def _around(below: np.ndarray, n: int, first: int, weights: list[np.ndarray]) -> Taps:
    at = below + np.arange(first, first + len(weights))[:, None]
    return np.clip(at, 0, n - 1), np.stack(weights).astype(np.float32)


def _nearest(n: int, m: int) -> Taps:
    at = np.minimum(np.floor(np.arange(m) * (n / m)).astype(np.int64), n - 1)
    return at[None], np.ones((1, m), np.float32)


def _linear(n: int, m: int) -> Taps:
    below, t = _positions(n, m)
    return _around(below, n, 0, linear(t))


def _cubic(n: int, m: int) -> Taps:
    below, t = _positions(n, m)
    w = cubic(t, np.float32(-0.75))
    return _around(below, n, -1, [*w[:3], 1 - w[0] - w[1] - w[2]])


def _lanczos(n: int, m: int) -> Taps:
    below, t = _positions(n, m)
    w = np.stack([np.sinc(t - i) * np.sinc((t - i) / 4) for i in range(-3, 5)])
    return _around(below, n, -3, list(w / w.sum(0)))


def _area(n: int, m: int) -> Taps:
    """Taps that weight each pixel by the share of it which a pixel of the result covers."""
    scale = n / m
    edges = np.arange(m + 1) * scale
    first = np.floor(edges[:-1] + 1e-3).astype(np.int64)
    at = first + np.arange(int(np.ceil(scale)) + 1)[:, None]
    share = np.minimum(at + 1, edges[1:]) - np.maximum(at, edges[:-1])
    share = np.where((share > 1e-3) & (at < n), share, 0)
    return np.minimum(at, n - 1), (share / share.sum(0)).astype(np.float32)


def _area_enlarged(n: int, m: int) -> Taps:
    scale = n / m
    below = np.floor(np.arange(m) * scale).astype(np.int64)
    t = (np.arange(m) + 1) - (below + 1) / scale
    t = np.where(t <= 0, 0, t - np.floor(t)).astype(np.float32)
    return _around(below, n, 0, linear(t))


_METHODS: dict[int, Callable[[int, int], Taps]] = {
    NEAREST: _nearest,
    LINEAR: _linear,
    CUBIC: _cubic,
    AREA: _area,
    LANCZOS: _lanczos,
    LINEAR_EXACT: _linear,
}


@lru_cache(maxsize=256)
def _taps(n: int, m: int, method: int, enlarged: bool, channels: int = 1) -> Taps:
    """Taps of rows, or of columns, whose pixels are `channels` numbers side by side."""
    at, weights = (_area_enlarged if method == AREA and enlarged else _METHODS[method])(n, m)
    each = at[:, :, None] * channels + np.arange(channels)
    return each.reshape(len(at), -1), np.repeat(weights, channels, 1)


def _combine(x: np.ndarray, at: np.ndarray, weights: np.ndarray, axis: int) -> np.ndarray:
    """Weighted rows (axis 0) or columns (1) of x."""
    index, weight = torch.from_numpy(at), torch.from_numpy(weights)
    return _resample(torch.from_numpy(x), axis=axis, index=index, weight=weight).tensor.numpy()


def resize(x: np.ndarray, height: int, width: int, interp: int) -> np.ndarray:
    """An image of shape (height, width, channels) in another size; its dtype stays.

    `interp` is 0 for nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos over 8 x 8 pixels,
    5 bilinear in exact arithmetic on integers (OpenCV's INTER_LINEAR_EXACT).
    """
    h, w, channels = x.shape
    if (h, w) == (height, width):
        return x.copy()
    enlarged = height > h or width > w
    if x.dtype == np.uint8 and interp != NEAREST and (interp != AREA or enlarged):
        return _of_bytes(x, height, width, interp)
    rows, columns = _taps(h, height, interp, enlarged), _taps(w, width, interp, enlarged, channels)
    flat = np.ascontiguousarray(x).reshape(h, w * channels)
    if interp == NEAREST:
        y = flat[rows[0][0]][:, columns[0][0]]
    else:
        wide = flat.astype(np.float64 if x.dtype == np.float64 else np.float32)
        halves_up = interp == AREA and (h, w) == (2 * height, 2 * width)  # OpenCV has a loop for halving
        if interp == AREA:  # in OpenCV's order, whose rounding decides about halves
            y = _combine(_combine(wide, *columns, 1), *rows, 0)
        else:
            y = _combine(_combine(wide, *rows, 0), *columns, 1)
        y = _as_dtype(y, x.dtype, halves_up)
    return y.reshape(height, width, channels)


def _as_dtype(y: np.ndarray, dtype: np.dtype, halves_up: bool) -> np.ndarray:
    if dtype.kind == "f":
        return y.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    y = np.floor(y + 0.5) if halves_up else np.rint(y)
    return np.clip(y, limits.min, limits.max).astype(dtype)


# method -> how the sums of rows are rounded, and the bits of the weights of a row and of a column together
_ROUNDING = {LINEAR: ("linear", 22), AREA: ("linear", 22), CUBIC: ("cubic", 22), LANCZOS: ("whole", 22)}
_ROUNDING[LINEAR_EXACT] = ("whole", 16)


@keep(256)
def _whole_taps(n: int, m: int, interp: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Taps (results, taps) with weights in whole numbers, whose unit is 1 / 2048, or 1 / 256 in exact arithmetic."""
    at, weights = (_area_enlarged if interp == AREA else _METHODS[interp])(n, m)
    unit = 2 ** (_ROUNDING[interp][1] // 2)
    whole = np.rint(weights * unit)
    if interp == LINEAR_EXACT:
        whole[0] = unit - whole[1]
    return tuple(torch.from_numpy(np.ascontiguousarray(a.T.astype(np.int32))) for a in (at, whole))


def _of_bytes(x: np.ndarray, height: int, width: int, interp: int) -> np.ndarray:
    if x.shape[2] > 4:  # the op takes up to four channels
        parts = [_of_bytes(x[..., i : i + 4], height, width, interp) for i in range(0, x.shape[2], 4)]
        return np.concatenate(parts, 2)
    rounding, bits = _ROUNDING[interp]
    rows, columns = _whole_taps(x.shape[0], height, interp), _whole_taps(x.shape[1], width, interp)
    image = torch.from_numpy(np.require(x, requirements="CW"))
    return _resize_bytes(image, *rows, *columns, rounding=rounding, bits=bits).tensor.numpy()
