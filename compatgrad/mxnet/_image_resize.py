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
from compatgrad.core.resampling import cubic, linear

NEAREST, LINEAR, CUBIC, AREA, LANCZOS, LINEAR_EXACT = range(6)

Taps = tuple[np.ndarray, np.ndarray]
_resample = _C.op("resample")


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
    rows, columns = _taps(h, height, interp, enlarged), _taps(w, width, interp, enlarged, channels)
    flat = np.ascontiguousarray(x).reshape(h, w * channels)
    if interp == NEAREST:
        y = flat[rows[0][0]][:, columns[0][0]]
    elif x.dtype == np.uint8 and (interp == LINEAR or interp == AREA and enlarged):
        y = _linear_of_bytes(flat, rows, columns)
    elif x.dtype == np.uint8 and interp == LINEAR_EXACT:
        y = _exact_of_bytes(flat, rows, columns)
    else:
        wide = flat.astype(np.float64 if x.dtype == np.float64 else np.float32)
        y = _as_dtype(_combine(_combine(wide, *rows, 0), *columns, 1), x.dtype, interp)
    return y.reshape(height, width, channels)


def _as_dtype(y: np.ndarray, dtype: np.dtype, interp: int) -> np.ndarray:
    if dtype.kind == "f":
        return y.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    y = np.floor(y + 0.5) if interp == AREA else np.rint(y)  # OpenCV rounds halves up here
    return np.clip(y, limits.min, limits.max).astype(dtype)


def _whole(y: np.ndarray) -> np.ndarray:
    """Sums of whole numbers below 2 ** 24, which float32 holds exactly."""
    return y.astype(np.int32)


def _exact_of_bytes(x: np.ndarray, rows: Taps, columns: Taps) -> np.ndarray:
    """In integers: weights in units of 1 / 256, rounded once at the end."""
    parts = []
    for _, weights in (rows, columns):
        second = np.rint(weights[1] * 256)
        parts.append(np.stack([256 - second, second]))
    y = _whole(_combine(_combine(x.astype(np.float32), columns[0], parts[1], 1), rows[0], parts[0], 0))
    return ((y + (1 << 15)) >> 16).astype(np.uint8)


def _linear_of_bytes(x: np.ndarray, rows: Taps, columns: Taps) -> np.ndarray:
    """In integers: weights in units of 1 / 2048, with the intermediate rounding of OpenCV's vectorized loops."""
    unit = 2048
    across = np.rint(columns[1] * unit)
    down = np.rint(rows[1] * unit).astype(np.int32)
    y = _whole(_combine(x.astype(np.float32), columns[0], across, 1))
    y >>= 4
    halves = []
    for k in (0, 1):
        half = y[rows[0][k]]
        half *= down[k, :, None]
        half >>= 16
        halves.append(half)
    y = halves[0]
    y += halves[1]
    y += 2
    y >>= 2
    return y.astype(np.uint8)
