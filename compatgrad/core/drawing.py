"""Random numbers of large arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PART = 1 << 16  # numbers that are drawn at a time


def draw_parts(values: np.ndarray, draw: Callable[[tuple[int, ...]], Any]) -> None:
    """Writes the numbers of `draw(shape)` into a C-contiguous array, part by part. A generator that draws one number
    after the other gives the same ones as in one draw; all of them in float64 would take twice the memory of a float32
    array, and leave a hole of this size in the heap."""
    flat = values.reshape(-1)  # which shares the memory
    for start in range(0, flat.size, PART):
        part = flat[start : start + PART]
        part[...] = draw(part.shape)
