"""Tables of plain decimal numbers, such as `-1.25`, with commas between: parsed by arithmetic on whole arrays."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

__all__ = ["table"]

_POWERS = 10.0 ** np.arange(17)
# _LAST[n] keeps the last n of the eight bytes of a word, whose first byte is its lowest
_LAST = np.array([(1 << 64) - (1 << 8 * (8 - n)) for n in range(9)], np.uint64)
_FRONT = b"0" * 16  # what is read before the first number
# Text that is parsed at once: its arrays fit into the cache of a core.
_PART_BYTES = 1 << 18


def table(text: bytes, dtype: Any) -> np.ndarray[Any, Any] | None:
    """The numbers of a text, one row for each line; None where the text has something else than plain decimals.

    Each number is the nearest of float64, as `float` gives it, and is then converted to `dtype`. Up to eight digits
    before the point are read, and up to 16 behind it, 15 to 16 in all.

    Args:
        text: lines of numbers with commas between them, equally many in each line.
        dtype: dtype of the result.

    Returns:
        Array (lines, numbers of a line), or None.

    Raises:
        TypeError: `text` is no bytes, or `dtype` is no dtype.

    Example:
        >>> from compatgrad.formats import decimals
        >>> decimals.table(b"1,-2.5\\n.25,4\\n", "float32")
        array([[ 1.  , -2.5 ],
               [ 0.25,  4.  ]], dtype=float32)
        >>> decimals.table(b"1e3,2", "float32") is None
        True

    Source: `compatgrad/formats/decimals.py`.
    """
    if sys.byteorder != "little":
        return None
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    text = b"".join((_FRONT, text, b"" if text.endswith(b"\n") else b"\n"))
    width = text.count(b",", 0, text.index(b"\n")) + 1
    bounds = list(_bounds(text))
    if len(bounds) == 1:
        return _numbers(text, bounds[0], width, dtype)
    with ThreadPoolExecutor(min(len(bounds), os.cpu_count() or 1)) as threads:
        found = list(threads.map(lambda part: _numbers(text, part, width, dtype), bounds))
    rows = [part for part in found if part is not None]
    return np.concatenate(rows) if len(rows) == len(found) else None


def _bounds(text: bytes) -> Iterator[tuple[int, int]]:
    """Beginnings and ends of parts: whole lines of about _PART_BYTES."""
    start = len(_FRONT)
    while start < len(text):
        end = text.find(b"\n", min(start + _PART_BYTES, len(text) - 1)) + 1
        yield start, end
        start = end


def _eight_digits(words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numbers of eight digits, of which the first is the lowest byte; a byte 0 counts as the digit 0.

    Neighbours are joined to numbers of two digits, these to four, these to eight.
    """
    words = (words & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(10 * 256 + 1) >> np.uint64(8)
    words = (words & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(100 * 65536 + 1) >> np.uint64(16)
    words = (words & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(10000 * (1 << 32) + 1) >> np.uint64(32)
    return words


def _of(values: np.ndarray[Any, Any], index: np.ndarray[Any, Any]) -> Any:
    """`values[index]`, or one value if all are the same, as in tables whose numbers have equally many digits."""
    first = index[0]
    return values[first] if (index == first).all() else values[index]


def _numbers(text: bytes, bounds: tuple[int, int], width: int, dtype: Any) -> np.ndarray[Any, Any] | None:
    """The numbers between two positions of a text, before which it has as many bytes as _FRONT."""
    first, last = bounds
    data = np.frombuffer(text, np.uint8, last - first, first)
    if data.max() > ord("9"):
        return None
    at = np.flatnonzero(data < ord("0"))  # of all characters but digits
    marks = data[at]
    own = marks[1::2]
    if len(at) % 2 == 0 and (marks[::2] == ord(".")).all() and ((own == ord(",")) | (own == ord("\n"))).all():
        points, ends, negative = at[::2], at[1::2], at[:0]  # each number has a dot, and none a sign
    else:
        own = (marks == ord(",")) | (marks == ord("\n"))
        ends, dots, negative = at[own], at[marks == ord(".")], at[marks == ord("-")]
        if len(ends) + len(dots) + len(negative) != len(at):
            return None
        own = marks[own]
        of_dots = np.searchsorted(ends, dots)
        if len(dots) > 1 and not np.diff(of_dots).all():
            return None  # two dots in a number
        points = ends.copy()  # where a number has no dot
        points[of_dots] = dots
    lines = np.flatnonzero(own == ord("\n"))
    if len(ends) % width or not np.array_equal(lines, np.arange(width - 1, len(ends), width)):
        return None
    starts = np.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    if len(negative):
        of_signs = np.searchsorted(ends, negative)
        if not np.array_equal(starts[of_signs], negative):
            return None  # a sign within a number
        starts[of_signs] += 1
    before = points - starts
    behind = np.maximum(ends - points - 1, 0)
    digits = before + behind
    if digits.min() < 1 or before.max() > 8 or behind.max() > 16:
        return None
    # the eight bytes before each byte of the part, and those before them; x86 and ARM read words at any address
    words, earlier = (np.ndarray((len(data),), np.uint64, text, first - back, (1,)) for back in (8, 16))
    values = _eight_digits(words[points] & _of(_LAST, before)).astype(np.float64)
    if behind.any():
        fraction = _eight_digits(words[ends] & _of(_LAST, np.minimum(behind, 8))).astype(np.float64)
        if behind.max() > 8:
            fraction += _eight_digits(earlier[ends] & _of(_LAST, np.maximum(behind - 8, 0))).astype(np.float64) * 1e8
        power = _of(_POWERS, behind)
        values = values * power + fraction
        if values.max() >= 1 << 53:
            return None  # not exact; up to there, one division rounds correctly
        values /= power
    if len(negative):
        values[of_signs] *= -1
    return values.reshape(-1, width).astype(dtype)
