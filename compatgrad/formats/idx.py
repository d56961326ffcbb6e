"""IDX files of bytes, the format of MNIST: two zeros, 8, the number of axes, their lengths (big endian), the bytes."""

from __future__ import annotations

import gzip
import math
import struct
import zlib

import numpy as np

__all__ = ["read"]


def read(path: str, ndim: int | None = None) -> np.ndarray:
    """The array in an IDX file of bytes, gzipped or not.

    Args:
        path: path of the file.
        ndim: number of axes that it must have; None takes any but 0.

    Returns:
        The array of uint8, read-only.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not an IDX file, is damaged, or has another number of axes.

    Example:
        >>> import os, tempfile
        >>> from compatgrad.formats import idx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "labels")
        ...     with open(path, "wb") as file:
        ...         count = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
        ...     idx.read(path)
        array([7, 8, 9], dtype=uint8)

    Source: `compatgrad/formats/idx.py`.
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
