"""Functions that make arrays from numbers, or with the shape of another array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compatgrad.nnabla._declare import constant as made_of
from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array
    from compatgrad.nnabla.variable import Variable

__all__ = ["arange", "constant", "eye_like", "linspace", "shape"]


@function("Constant", "")
def constant(val: float = 0, shape: Sequence[int] = ()) -> Variable:
    """An array of which every element is the same number.

    Args:
        val: the number.
        shape: the lengths of the axes.

    Returns:
        Array of `shape`, float32.

    Raises:
        TypeError: `shape` is a single number.

    Example:
        >>> with nn.auto_forward():
        ...     F.constant(2.5, (2, 3)).d
        array([[2.5, 2.5, 2.5],
               [2.5, 2.5, 2.5]], dtype=float32)
    """
    return made_of(torch.full(() if shape is None else tuple(shape), float(val or 0), dtype=torch.float32))


@function("Arange", "")
def arange(start: float, stop: float, step: float = 1) -> Variable:
    """Numbers from `start` up to, but not including, `stop`, at distances of `step`. Each one is the sum of the
    previous one and `step`, rounded to float32; the rounding may change the number of elements.

    Args:
        start: the first number.
        stop: the end, which is not included.
        step: the distance.

    Returns:
        Array of one axis, float32.

    Raises:
        RuntimeError: `step` is 0.

    Example:
        >>> with nn.auto_forward():
        ...     F.arange(1, 3, 0.5).d
        array([1. , 1.5, 2. , 2.5], dtype=float32)
    """
    step = 1 if step is None else step
    if step == 0:
        raise RuntimeError("arange: step must not be 0")
    # Added up in float32, as in nnabla: the number of elements depends on the rounding.
    last, parts = np.float32(stop), [np.empty(0, np.float32)]
    if float(start).is_integer() and float(step).is_integer() and max(abs(start), abs(last), abs(step)) < 1 << 23:
        end = float(last) if (float(last) - start) * step > 0 else start
        return made_of(
            torch.arange(start, end, step, dtype=torch.float32)
        )  # the same numbers as by repeated addition, because all sums are exact
    value, count = np.float32(start), int(min(max((stop - start) / step, 0), 1 << 16)) + 1
    while value > last if step < 0 else value < last:
        part = np.full(count, step, np.float32)
        part[0] = value
        part = np.add.accumulate(part)
        inside = part > last if step < 0 else part < last
        parts.append(part if inside.all() else part[: inside.argmin()])
        value = np.float32(part[-1] + np.float32(step))
    return made_of(torch.from_numpy(np.concatenate(parts)))


@function("Linspace", "")
def _linspace(start: float, stop: float, num: int) -> Any:
    step = (stop - start) / (num - 1) if num > 1 else 0.0
    return made_of(torch.from_numpy((start + step * np.arange(num)).astype(np.float32)))


@documented()
def linspace(start: float, stop: float, num: int) -> Variable:
    """Numbers at equal distances.

    Args:
        start: the first number.
        stop: the last number.
        num: the number of elements.

    Returns:
        Array of shape (num,), float32.

    Raises:
        TypeError: `num` is no integer.
        ValueError: `num` is negative.

    Example:
        >>> with nn.auto_forward():
        ...     F.linspace(0, 1, 5).d
        array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    if not isinstance(num, int):
        raise TypeError(f"'{type(num).__name__}' object cannot be interpreted as an integer")
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    return _linspace(start, stop, num)


@function("EyeLike", "x", primitive=True)
def eye_like(x: Array, k: int = 0) -> Array:
    """Ones on a diagonal of a matrix, and zeros elsewhere.

    Args:
        x: an array of two axes; only its shape is used.
        k: the diagonal: 0 is the main one, positive ones lie above it, negative ones below.

    Returns:
        Array of the shape of `x`, float32. No gradient passes.

    Raises:
        RuntimeError: `x` does not have two axes.

    Example:
        >>> F.eye_like(nn.NdArray((2, 3)), k=1).data
        array([[0., 1., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    if x.ndim != 2:
        raise RuntimeError(f"eye_like: inputs[0]->ndim() must be 2, not {x.ndim} (shape {tuple(x.shape)}).")
    return op.eye_like(x, k=k or 0)


@function("Shape", "x")
def shape(x: Array, start: int = 0, end: int = 0) -> Array:
    """The lengths of an array's axes, as an array.

    Args:
        x: at least one axis.
        start: the first axis, negative ones counted from the last.
        end: the axis after the last one, negative ones counted from the last; 0 is the end.

    Returns:
        Array of one axis, float32. No gradient passes.

    Raises:
        RuntimeError: `x` has no axes.

    Example:
        >>> F.shape(nn.NdArray((2, 3, 5)), start=1).data
        array([3., 5.], dtype=float32)
    """
    n = x.ndim
    if n == 0:
        raise RuntimeError("shape: x must have at least one axis")
    start, end = start or 0, end or 0
    first = start + n if start < 0 else min(start, n)
    last = end + n if end < 0 else min(end, n) if end > 0 else n
    return made_of(torch.tensor(tuple(x.shape)[first:last], dtype=torch.float32))
