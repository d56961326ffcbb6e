"""Functions of `mx.np` that repeat, pick and turn elements around."""

from __future__ import annotations

from typing import Any

import numpy as onp
import torch

from compatgrad import _C

from ..base import MXNetError
from ..ndarray._operator import op
from ..ndarray.ndarray import NDArray
from ._arguments import _array, _axis
from ._array import constant, finish, ndarray
from ._joining import _cut, concatenate
from ._shapes import moveaxis, ravel, reshape, swapaxes

__all__ = [
    "diag", "diagonal", "flip", "fliplr", "flipud", "repeat", "roll", "rot90", "take", "take_along_axis", "tile",
    "trace", "tril", "triu",
]  # fmt: skip


def tile(A: Any, reps: Any) -> ndarray:
    """The array repeated as a whole, along each axis."""
    x = _array("tile", A, "A")
    counts = (int(reps),) if isinstance(reps, (int, onp.integer)) else tuple(int(n) for n in reps)
    n = max(len(counts), x.ndim)
    x = op.reshape(x, shape=(1,) * (n - x.ndim) + x.shape)
    return op.tile(x, reps=(1,) * (n - len(counts)) + counts)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> ndarray:
    """Each element repeated, along an axis or flat."""
    x = _array("repeat", a)
    if axis is None:
        x, axis = ravel(x), 0
    counts = (int(repeats),) if isinstance(repeats, (int, onp.integer)) else tuple(int(n) for n in repeats)
    return op.repeat(x, repeats=counts, axis=_axis("repeat", axis, x.ndim))


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise", out: Any = None) -> Any:
    """Elements or slices at positions along an axis, or of the flat array.

    `mode`: what happens beyond the ends: "raise" an MXNetError, "clip" to the ends, or "wrap" around.
    """
    x = _array("take", a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = _axis("take", axis, x.ndim)
    n = x.shape[axis]
    i = indices.tensor.detach() if isinstance(indices, NDArray) else torch.as_tensor(onp.asarray(indices))
    i = i.to(device=x.tensor.device, dtype=torch.int64)
    if mode == "raise":
        if i.numel() and (int(i.min()) < -n or int(i.max()) >= n):
            raise MXNetError(
                f"take: indices from {int(i.min())} to {int(i.max())} are out of bounds for axis {axis} of {n}"
            )
        i = i % n if i.numel() else i
    elif mode in ("clip", "wrap"):
        i = i.clamp(0, n - 1) if mode == "clip" else i % n
    else:
        raise ValueError(f"take: mode must be 'raise', 'clip' or 'wrap', got {mode!r}")
    return finish(op.get_item(x, index=(*(slice(None),) * axis, i)), out)


def take_along_axis(arr: Any, indices: Any, axis: int) -> ndarray:
    """Elements at positions along an axis, given for each of the other axes' places."""
    x = _array("take_along_axis", arr, "arr")
    axis = _axis("take_along_axis", axis, x.ndim)
    i = indices.tensor.to(torch.int64)
    return op.gather_along(x, constant(torch.where(i < 0, i + x.shape[axis], i)), axis=axis)


def flip(m: Any, axis: Any = None, out: Any = None) -> Any:
    """The elements along axes in reverse order."""
    x = _array("flip", m, "m")
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return finish(op.flip(x, axis=tuple(_axis("flip", i, x.ndim) for i in axes)), out)


def flipud(m: Any) -> Any:
    """The first axis in reverse order."""
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    """The second axis in reverse order."""
    return flip(m, 1)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Turned by 90 degrees, k times."""
    x = _array("rot90", m, "m")
    for _ in range(k % 4):
        x = swapaxes(flip(x, axes[1]), *axes)
    return _C.own(x, m)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved along axes; those beyond the end come in again at the front."""
    x = _array("roll", a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    shifts, axes = ([v] if isinstance(v, int) else list(v) for v in (shift, axis))
    for s, i in zip(shifts * len(axes) if len(shifts) == 1 else shifts, axes, strict=True):
        n = x.shape[i]
        if n and s % n:
            x = concatenate(_cut("roll", x, [n - s % n], i, False)[::-1], axis=i)
    return _C.own(x, a)


def tril(m: Any, k: int = 0) -> ndarray:
    """Zeros above diagonal k; a vector is each row of a square matrix."""
    x = _array("tril", m, "m")
    return op.tril(x if x.ndim != 1 else op.broadcast_to(x, shape=x.shape * 2), k=k)


def triu(m: Any, k: int = 0) -> ndarray:
    """Zeros below diagonal k."""
    return op.triu(_array("triu", m, "m"), k=k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """A diagonal of two axes, which becomes the last axis."""
    x = _array("diagonal", a)
    i, j = _axis("diagonal", axis1, x.ndim), _axis("diagonal", axis2, x.ndim)
    x = moveaxis(x, (i, j), (-2, -1))
    rows, columns = x.shape[-2:]
    n = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    at = torch.arange(n, device=x.tensor.device)
    return op.get_item(x, index=(Ellipsis, at + max(-offset, 0), at + max(offset, 0)))


def diag(array: Any, k: int = 0) -> ndarray:
    """A diagonal of a matrix, or a matrix with a vector on a diagonal."""
    x = _array("diag", array, "array")
    if x.ndim != 1:
        return diagonal(x, k)
    n = x.shape[0] + abs(k)
    mask = torch.zeros(n, n, dtype=x.tensor.dtype, device=x.tensor.device)
    at = torch.arange(x.shape[0], device=x.tensor.device)
    mask[at + max(-k, 0), at + max(k, 0)] = 1
    line = op.pad(x, pad_width=(max(-k, 0), n - x.shape[0] - max(-k, 0)))
    return op.mul(op.reshape(line, shape=(n, 1)), constant(mask))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None) -> Any:
    """The sum along a diagonal."""
    x = _array("trace", a)
    if _axis("trace", axis1, x.ndim) == _axis("trace", axis2, x.ndim):
        raise MXNetError(f"trace: axis1 and axis2 must be different axes, got {axis1} and {axis2}")
    return finish(op.sum(diagonal(a, offset, axis1, axis2), axis=-1), out)
