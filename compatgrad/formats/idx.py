"""IDX files of bytes, the format of MNIST: two zeros, 8, how many axes, their lengths (big endian), the bytes."""

from __future__ import annotations

import gzip
import math
import struct
import zlib

import numpy as np

__all__ = ["read"]


def read(path: str, ndim: int | None = None) -> np.ndarray:
    """The array in a file, gzipped or not; read-only. ValueError for what is none, or has not `ndim` axes.

    ndim: None for any number but 0.
    """
    with open(path, "rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
    try:
        with (gzip.open if gzipped else open)(path, "rb") as file:
            data = file.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        raise ValueError(f"{path} is cut off or damaged: {e}") from e
    found = data[3] if len(data) > 3 and data[:3] == b"\0\0\x08" else 0
    at = 4 + 4 * found
    if not found or found != (ndim or found) or len(data) < at:
        raise ValueError(f"{path} is not an IDX file of bytes" + (f" in {ndim} dimensions" if ndim else ""))
    shape = struct.unpack_from(f">{found}I", data, 4)
    if len(data) - at != math.prod(shape):
        raise ValueError(f"{path} is cut off: {len(data) - at} bytes of an array of shape {shape}")
    return np.frombuffer(data, np.uint8, offset=at).reshape(shape)
