"""Random numbers of large arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PART = 1 << 16  # numbers that are drawn at a time


def draw_parts(values: np.ndarray, draw: Callable[[tuple[int, ...]], Any]) -> None:
    """Writes random numbers into an array, part by part.

    A generator that draws one number after the other gives the same numbers in several draws as in one. One draw would
    take, for its float64 numbers, twice the memory of a float32 array, and leave free memory of this size in the heap.

    Args:
        values: C-contiguous array of any shape and dtype, which is overwritten.
        draw: Function of a shape that returns an array of this shape, or of numbers that broadcast to it. It is called
            with `(n,)`, where `n` is at most `PART`, until there are numbers for the whole array.

    Raises:
        ValueError: The result of `draw` does not broadcast to the shape that it was called with.

    Example:
        >>> from compatgrad.core.random_numbers import draw_parts
        >>> values = np.empty((300, 400), np.float32)
        >>> random = np.random.RandomState(0)
        >>> draw_parts(values, lambda shape: random.normal(size=shape))
        >>> whole = np.random.RandomState(0).normal(size=(300, 400)).astype(np.float32)
        >>> bool((values == whole).all())
        True

    Source: the initializers of Chainer and nnabla, which draw all numbers at once.
    """
    flat = values.reshape(-1)  # shares the memory of `values`
    for start in range(0, flat.size, PART):
        part = flat[start : start + PART]
        part[...] = draw(part.shape)
