"""Arrays made of numbers alone, and those of another's shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from compatgrad.nnabla._declare import constant as made_of
from compatgrad.nnabla._declare import function, op

__all__ = ["arange", "constant", "eye_like", "linspace", "shape"]


@function("Constant", "")
def constant(val: float = 0, shape: Sequence[int] = ()) -> Any:
    """An array of `shape` of which every element is `val`."""
    return made_of(torch.full(() if shape is None else tuple(shape), float(val or 0), dtype=torch.float32))


@function("Arange", "")
def arange(start: float, stop: float, step: float = 1) -> Any:
    """start, start + step, ... as long as `stop` is not reached. RuntimeError where step is 0."""
    step = 1 if step is None else step
    if step == 0:
        raise RuntimeError("arange: step must not be 0")
    # Added up in float32, as the original does: the number of elements depends on the rounding.
    last, values = np.float32(stop), []
    value = np.float32(start)
    while value > last if step < 0 else value < last:
        values.append(value)
        value = np.float32(value + np.float32(step))
    return made_of(torch.from_numpy(np.asarray(values, np.float32)))


@function("Linspace", "")
def _linspace(start: float, stop: float, num: int) -> Any:
    step = (stop - start) / (num - 1) if num > 1 else 0.0
    return made_of(torch.from_numpy((start + step * np.arange(num)).astype(np.float32)))


def linspace(start: float, stop: float, num: int) -> Any:
    """`num` numbers at equal distances, the first `start`, the last `stop`.

    TypeError where `num` is no integer, ValueError where it is negative.
    """
    if not isinstance(num, int):
        raise TypeError(f"'{type(num).__name__}' object cannot be interpreted as an integer")
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    return _linspace(start, stop, num)


@function("EyeLike", "x", primitive=True)
def eye_like(x: Any, k: int = 0) -> Any:
    """Ones on the k-th diagonal of a matrix of x's shape, zeros elsewhere. RuntimeError unless x has two axes."""
    if x.ndim != 2:
        raise RuntimeError(f"eye_like: inputs[0]->ndim() must be 2, not {x.ndim} (shape {tuple(x.shape)}).")
    return op.eye_like(x, k=k or 0)


@function("Shape", "x")
def shape(x: Any, start: int = 0, end: int = 0) -> Any:
    """The lengths of x's axes start, ..., end - 1 as numbers; negative ones count from the end, end 0 is the end."""
    n = x.ndim
    if n == 0:
        raise RuntimeError("shape: x must have at least one axis")
    start, end = start or 0, end or 0
    first = start + n if start < 0 else min(start, n)
    last = end + n if end < 0 else min(end, n) if end > 0 else n
    return made_of(torch.tensor(tuple(x.shape)[first:last], dtype=torch.float32))
