"""NumPy's files of one array (.npy), read without unpickling."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Callable
from typing import IO

import numpy as np

__all__ = ["fits", "read_array", "read_header"]

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype]:
    """The shape and dtype of the array at the beginning of a file.

    Args:
        file: a binary file open for reading.
        name: its name in errors.

    Returns:
        Shape and dtype; `file` is then positioned at the elements.

    Raises:
        ValueError: the file does not begin with an array.

    Example:
        >>> import io
        >>> import numpy as np
        >>> from compatgrad.formats import npy
        >>> file = io.BytesIO()
        >>> np.save(file, np.zeros((2, 3), np.float32))
        >>> _ = file.seek(0)
        >>> npy.read_header(file, "the file")
        ((2, 3), dtype('float32'))

    Source: `compatgrad/formats/npy.py`.
    """
    shape, _, dtype = _header(file, name)
    return shape, dtype


def _header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """The shape, whether the last axis is the innermost, and the dtype."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"expected an array of .npy version 1 or 2, found version {version[0]}.{version[1]}")
        shape, reversed_axes, dtype = _HEADERS[version](file)
    except (zipfile.BadZipFile, zlib.error, OSError):
        raise
    except Exception as error:  # NumPy evaluates the header as Python code, which may fail with any error
        raise ValueError(f"{name} cannot be read: {error}") from error
    if any(type(n) is not int or n < 0 for n in shape) or (not dtype.itemsize and math.prod(shape) > 1):
        raise ValueError(f"{name} cannot be read: there is no array of shape {shape} and type {dtype}")
    return shape, not reversed_axes, dtype


def _filled(file: IO[bytes], memory: memoryview, name: str) -> int:
    """Reads bytes into memory: how many."""
    read = getattr(file, "readinto", None)
    count = read(memory) if read is not None else 0
    if not count:  # another kind of file, or one that has become shorter
        data = file.read(len(memory))
        count = len(data)
        memory[:count] = data
    if not count:
        raise ValueError(f"{name} cannot be read: {len(memory)} bytes are missing at its end")
    return count


def read_array(
    file: IO[bytes],
    name: str,
    allow_pickle: bool = False,
    empty: Callable[[tuple[int, ...], np.dtype], np.ndarray] | None = None,
) -> np.ndarray:
    """The array in a file. Nothing is allocated before the file is known to be long enough for it.

    Args:
        file: a seekable binary file open for reading, positioned at the beginning of the array.
        name: its name in errors.
        allow_pickle: True unpickles objects, which runs code that the file contains.
        empty: makes the array of numbers; None lets NumPy do it.

    Returns:
        The array; `file` is then positioned after it.

    Raises:
        ValueError: there is no array, it is truncated, or it is a pickle and `allow_pickle` is False.

    Example:
        >>> import io
        >>> import numpy as np
        >>> from compatgrad.formats import npy
        >>> file = io.BytesIO()
        >>> np.save(file, np.array([1, 2]))
        >>> _ = file.seek(0)
        >>> npy.read_array(file, "the file")
        array([1, 2])

    Source: `compatgrad/formats/npy.py`.
    """
    at = file.tell()
    shape, in_c_order, dtype = _header(file, name)
    if dtype.hasobject and not allow_pickle:
        raise ValueError(
            f"{name} is a pickled object, which is not loaded: allow_pickle=True loads it, and runs code that the file "
            "contains"
        )
    begin = file.tell()
    left = file.seek(0, io.SEEK_END) - begin
    needed = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and left < needed:
        raise ValueError(f"{name} is cut off: {left} bytes of an array of shape {shape} and type {dtype}")
    if empty is not None and needed and not dtype.hasobject and in_c_order:
        file.seek(begin)
        array = empty(shape, dtype)
        memory = array.reshape(-1).view(np.uint8).data
        while memory:
            memory = memory[_filled(file, memory, name) :]
        return array
    file.seek(at)
    try:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=allow_pickle))
    except (ValueError, EOFError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from error


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether NumPy can copy an array of one shape into an array of another.

    Args:
        shape: shape of the array that is copied.
        target: shape of the array that it is copied into.

    Returns:
        True if it can, possibly by broadcasting.

    Raises:
        TypeError: a shape is not a tuple.

    Example:
        >>> from compatgrad.formats import npy
        >>> npy.fits((1, 3), (2, 3)), npy.fits((3,), (2,))
        (True, False)

    Source: `compatgrad/formats/npy.py`.
    """
    extra = len(shape) - len(target)
    if extra > 0:
        if any(n != 1 for n in shape[:extra]):
            return False
        shape = shape[extra:]
    return all(n in (1, wanted) for n, wanted in zip(reversed(shape), reversed(target), strict=False))
