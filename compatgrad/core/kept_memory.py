"""The memory of large tensors on the CPU, which is kept for the next ones (csrc/core/memory.h)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from compatgrad import _C

__all__ = ["empty", "release_memory"]

_FROM_BYTES = 1 << 18  # of what is kept


def release_memory() -> int:
    """Returns memory on the CPU that is not in use, but kept for new tensors, to the system.

    The memory of a freed tensor of up to 32 KiB, or of 256 KiB to 256 MiB, is kept, because a new tensor gets it much
    faster than memory of the system. `docs/guide/performance.md` says how much is kept. The environment variable
    `COMPATGRAD_KEEP_MEMORY=0`, set before compatgrad is imported, keeps nothing.

    Returns:
        The number of bytes.

    Example:
        >>> import compatgrad
        >>> compatgrad.release_memory() >= 0
        True

    Source: `compatgrad/core/kept_memory.py`.
    """
    return _C.release_memory()


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """A NumPy array without values, whose memory is that of a freed tensor or array of this function, if it is large.

    Args:
        shape: the shape.
        dtype: a dtype of numbers.

    Returns:
        Array whose `base` keeps the memory.

    Raises:
        ValueError: a length is negative.
        TypeError: `dtype` is no dtype.

    Example:
        >>> from compatgrad.core.kept_memory import empty
        >>> empty((300, 500), "float32").nbytes
        600000

    Source: `compatgrad/core/kept_memory.py`.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < _FROM_BYTES:
        return np.empty(shape, dtype)
    array: np.ndarray[Any, Any] = torch.empty(size, dtype=torch.uint8).numpy().view(dtype).reshape(shape)
    return array
