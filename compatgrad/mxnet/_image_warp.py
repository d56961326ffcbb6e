"""Affine maps of images of bytes, with the pixels that OpenCV's `warpAffine` gives."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from compatgrad.core.resampling import cubic

from ._image_resize import AREA, CUBIC, LINEAR, LINEAR_EXACT, NEAREST

_PHASES = 32  # positions between two pixels that OpenCV tells apart
_ONE = 1 << 15  # of its weights
_BITS = 10  # behind the point of its positions


@lru_cache(maxsize=8)
def _weights(interp: int) -> np.ndarray:
    """The weights of the pixels around each position between four of them: (rows, columns, taps, taps)."""
    t = np.arange(_PHASES, dtype=np.float32) / _PHASES
    if interp == LINEAR:
        one = np.stack([1 - t, t], 1)
    elif interp == CUBIC:
        w = cubic(t, np.float32(-0.75))
        one = np.stack([*w[:3], 1 - w[0] - w[1] - w[2]], 1)
    else:
        w = np.stack([np.sinc(t - i) * np.sinc((t - i) / 4) for i in range(-3, 5)], 1)
        one = w / w.sum(1, keepdims=True)
    both = one[:, None, :, None].astype(np.float32) * one[None, :, None, :].astype(np.float32)
    whole = np.rint(both * _ONE).astype(np.int64)
    half = one.shape[1] // 2
    middle = slice(half - 1, half + 1) if half == 1 else slice(half, half + 2)
    for rows in whole.reshape(-1, *whole.shape[2:]):  # the weights of a pixel are one together
        rest = _ONE - int(rows.sum())
        part = rows[middle, middle]
        part[np.unravel_index(part.argmax() if rest > 0 else part.argmin(), part.shape)] += rest
    return whole


def warp(x: np.ndarray, matrix: np.ndarray, height: int, width: int, interp: int, fill: int) -> np.ndarray:
    """An image of bytes, (height, width, channels), whose pixel at `matrix @ (column, row, 1)` is that at (column,
    row) of x. interp: as in `resize`; fill: what is outside of x."""
    inverse = _inverse(matrix.astype(np.float64))
    interp = LINEAR if interp in (AREA, LINEAR_EXACT) else interp
    unit = 1 << _BITS
    half = unit // 2 if interp == NEAREST else unit // _PHASES // 2
    columns, rows = np.arange(width), np.arange(height)
    at = [
        (np.rint((inverse[i, 1] * rows + inverse[i, 2]) * unit).astype(np.int64) + half)[:, None]
        + np.rint(inverse[i, 0] * columns * unit).astype(np.int64)
        for i in (0, 1)
    ]
    if interp == NEAREST:
        return _taken(x, at[1] >> _BITS, at[0] >> _BITS, fill)
    at = [a >> (_BITS - 5) for a in at]
    weights = _weights(interp)
    taps = weights.shape[2]
    chosen = weights[at[1] & (_PHASES - 1), at[0] & (_PHASES - 1)]
    first = 1 - taps // 2
    total = np.full((height, width, x.shape[2]), _ONE // 2, np.int64)
    for down in range(taps):
        for across in range(taps):
            pixels = _taken(x, (at[1] >> 5) + first + down, (at[0] >> 5) + first + across, fill)
            total += pixels.astype(np.int64) * chosen[:, :, down, across, None]
    return np.clip(total >> 15, 0, 255).astype(np.uint8)


def _inverse(m: np.ndarray) -> np.ndarray:
    """The inverse of an affine map; of one that has none, OpenCV's zeros."""
    determinant = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    d = 1 / determinant if determinant else 0.0
    a = np.array([[m[1, 1] * d, -m[0, 1] * d], [-m[1, 0] * d, m[0, 0] * d]])
    return np.column_stack([a, -a[:, 0] * m[0, 2] - a[:, 1] * m[1, 2]])


def _taken(x: np.ndarray, row: np.ndarray, column: np.ndarray, fill: int) -> np.ndarray:
    h, w = x.shape[:2]
    inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
    found = x[np.clip(row, 0, h - 1), np.clip(column, 0, w - 1)]
    return np.where(inside[:, :, None], found, np.uint8(fill))
