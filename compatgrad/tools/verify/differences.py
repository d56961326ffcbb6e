"""Where two arrays differ, and by how much one array changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compatgrad.tools.verify.recording import Recording

__all__ = ["crossed", "lost", "side_change", "stretched"]

Array = np.ndarray[Any, Any]


def crossed(x: Array, y: Array, allowed: float, share: int) -> bool:
    """Whether only single elements differ."""
    if x.shape != y.shape or not x.size:
        return False
    a, b = x.astype(np.float64), y.astype(np.float64)
    limit = 10 * allowed * math.sqrt(float(np.mean(a * a)))
    return int((np.abs(a - b) > limit).sum()) <= max(2 if share == 100 else 0, x.size // share)


def stretched(x: Any, y: Any) -> bool:
    """Whether one of two descriptions has one row where the other has several: the gradient of an array that one side
    repeats, as MXNet repeats an initial state for each sample, is a sum on the other."""
    return (
        len(x[1]) == len(y[1]) and x[1] != y[1] and all(m == n or 1 in (m, n) for m, n in zip(x[1], y[1], strict=True))
    )


def lost(x: Array, y: Array, gradient: Array, other: Array) -> bool:
    """Whether two parameters differ only where the gradients' difference is as large as the gradients."""
    if not x.shape == y.shape == gradient.shape == other.shape:
        return False
    a, b, g, h = (v.astype(np.float64) for v in (x, y, gradient, other))
    apart = np.abs(a - b)
    differs = apart > max(float(apart.max()) * 0.05, 1e-5 * math.sqrt(float(np.mean(a * a))))
    small = np.abs(g) <= np.maximum(1000 * np.abs(g - h), 1e-2 * np.abs(g).max())
    return bool(small[differs].all())


def side_change(side: Recording, new: Any, old: Any) -> Array | None:
    """The change from one description to another: of the array, or of its dot products with the random vectors."""
    if new is None or old is None or new[1] != old[1] or not math.prod(new[1]):
        return None
    x, y = side.whole(new), side.whole(old)
    if x is not None and y is not None:
        return np.ravel(x.astype(np.float64) - y.astype(np.float64)) if x.dtype.kind == "f" else None
    if new[2] is None or old[2] is None:
        return None
    root = math.sqrt(math.prod(new[1]))
    return np.array([new[2][i] - old[2][i] for i in (7, 8)]) / root
