"""`x[key]` and `x[key] = value` for NDArrays: keys are parsed, and operators run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from compatgrad import _C

from .._frontend import op

_NAMES = "integers, slices, Ellipsis, None, and NDArrays, NumPy arrays or lists of integers"


def _is_integer(k: Any) -> bool:
    return isinstance(k, (int, np.integer)) and not isinstance(k, bool)


def _entry(k: Any, device: torch.device) -> Any:
    """One entry of a key in a form for torch; arrays become int64 tensors."""
    if k is None or k is Ellipsis:
        return k
    if _is_integer(k):
        return int(k)
    if isinstance(k, slice):
        return slice(*(None if v is None else int(v) for v in (k.start, k.stop, k.step)))
    if isinstance(k, _C.Variable):
        return k.tensor.to(torch.int64)
    if isinstance(k, (list, tuple, range, np.ndarray)):
        a = np.asarray(k)
        if a.dtype.kind in "iufb":
            return torch.as_tensor(np.ascontiguousarray(a.astype(np.int64)), device=device)
    raise ValueError(f"NDArray does not support slicing with key {k} of type {type(k)}. Supported are {_NAMES}.")


def _expanded(key: Any, x: Any) -> tuple[list[Any], bool]:
    """The key with one entry per axis of x, and whether it holds arrays; IndexError or ValueError if it is wrong."""
    entries = [_entry(k, x.tensor.device) for k in (key if isinstance(key, tuple) else (key,))]
    taken = sum(k is not None and k is not Ellipsis for k in entries)
    ndim = len(x.shape)
    if taken > ndim:
        raise IndexError(f"too many indices ({taken}) for array with {ndim} dimensions")
    if sum(k is Ellipsis for k in entries) > 1:
        raise IndexError("an index can only have a single Ellipsis ('...')")
    if not any(k is Ellipsis for k in entries):
        entries.append(Ellipsis)
    at = next(i for i, k in enumerate(entries) if k is Ellipsis)
    entries[at : at + 1] = [slice(None)] * (ndim - taken)
    axis, arrays = 0, False
    for k in entries:
        if k is None:
            continue
        size = x.shape[axis]
        if isinstance(k, int) and not -size <= k < size:
            raise IndexError(f"index {k} is out of bounds for axis {axis} with size {size}")
        if isinstance(k, slice) and k.step == 0:
            raise ValueError("slice step cannot be zero")
        if isinstance(k, torch.Tensor):
            arrays = True
            if k.numel() and not -size <= int(k.min()) <= int(k.max()) < size:
                raise IndexError(
                    f"index array with values from {int(k.min())} to {int(k.max())} is out of bounds for axis {axis} "
                    f"with size {size}"
                )
        axis += 1
    return entries, arrays


def _without_negative_steps(entries: list[Any], shape: tuple[int, ...]) -> tuple[list[Any], list[int]]:
    """The key with forward slices instead of backward ones, which torch does not support, and the axes of the result
    that must be flipped.
    """
    result, flips, axis, out = [], [], 0, 0
    for k in entries:
        if k is None:
            out += 1
        elif isinstance(k, slice):
            if k.step is not None and k.step < 0:
                r = range(shape[axis])[k]
                k = slice(r[-1], r[0] + 1, -k.step) if len(r) else slice(0, 0)
                flips.append(out)
            out, axis = out + 1, axis + 1
        else:
            axis += 1
        result.append(k)
    return result, flips


def _runs_backwards(k: Any) -> bool:
    return isinstance(k, slice) and k.step is not None and k.step < 0


def _mirrored(entries: list[Any], shape: tuple[int, ...]) -> Iterator[Any]:
    """The key for an array whose axes with backward slices are flipped."""
    sizes = iter(shape)
    for k in entries:
        n = None if k is None else next(sizes)
        if _runs_backwards(k):
            r = range(n)[k]
            k = slice(n - 1 - r[0], n - r[-1], -k.step) if len(r) else slice(0, 0)
        yield k


def get_item(x: Any, key: Any) -> Any:
    """`x[key]`. A contiguous slice shares memory with x; no result is 0-d."""
    if type(key) is int:
        size = x.shape[0] if x.shape else 0
        if -size <= key < size:
            y = op.get_item(x, index=key)
            return y if y.shape else op.reshape(y, shape=(1,))
    originals, arrays = _expanded(key, x)
    entries, flips = _without_negative_steps(originals, x.shape)
    if flips and arrays:  # arrays in the key move axes of the result, so that x is flipped instead
        axes = [a for a, k in enumerate(k for k in originals if k is not None) if _runs_backwards(k)]
        return op.get_item(op.flip(x, axis=tuple(axes)), index=tuple(_mirrored(originals, x.shape)))
    y = op.get_item(x, index=tuple(entries))
    if flips:
        y = op.flip(y, axis=tuple(flips))
    elif not arrays and not y.tensor.is_contiguous():
        y = op.copy(y)  # only a contiguous slice is a view
    if not y.shape and not x._zero_dim:
        y = op.reshape(y, shape=(1,))
    return y


_LONG = 1 << 63


def in_range(v: float, dtype: torch.dtype) -> float:
    """A number in the range of a dtype; one that is too large is converted without an error.

    In a floating dtype it becomes infinite. Integers are converted as in the original: for 32 and 64 bits, the smallest
    integer stands for all that are out of range; shorter integers are the lower bits of 32.
    """
    if dtype == torch.bool:
        return v
    if dtype.is_floating_point:
        within = not math.isfinite(v) or abs(v) <= torch.finfo(dtype).max
        return float(v) if within else math.copysign(math.inf, v)
    info = torch.iinfo(dtype)
    end = 1 << max(info.bits, 32) - 1
    n = int(v) if math.isfinite(v) and -end <= v < end else -end
    return n if info.min <= n <= info.max else (n - info.min) % (1 << info.bits) + info.min


def _value(value: Any, like: torch.Tensor) -> Any:
    if isinstance(value, _C.Variable):
        return value.tensor
    if isinstance(value, (bool, int, float, np.generic)):
        value = value.item() if isinstance(value, np.generic) else value
        exact = isinstance(value, int) and like.is_floating_point() and -_LONG <= value < _LONG
        return value if exact else in_range(value, like.dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(v, _C.Variable) for v in value):
        value = [v.asnumpy() if isinstance(v, _C.Variable) else v for v in value]
    try:
        return torch.as_tensor(np.asarray(value, dtype=np.float64 if like.is_floating_point() else None))
    except (TypeError, ValueError):
        raise TypeError(f"NDArray does not support assignment with {value!r} of type {type(value)}") from None


def _fill(x: Any, value: Any) -> None:
    """`x[:] = value` inside `record()`, with a value that is in the graph: x stands for the value in the graph then."""
    if value.tensor.dtype != x.tensor.dtype:
        value = op.cast(value, dtype=x.tensor.dtype)
    try:
        x._take(op.broadcast_to(value, shape=x.shape))
    except ValueError:
        raise ValueError(f"NDArray: a value of shape {value.shape} cannot be broadcast to shape {x.shape}") from None


def _fitting(v: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A value converted to shape, dtype and device of the assigned part; ValueError if it does not broadcast."""
    v = v.to(device=target.device, dtype=target.dtype)
    while v.dim() > target.dim() and v.shape[0] == 1:
        v = v[0]
    try:
        return v.expand(target.shape)
    except RuntimeError:
        raise ValueError(
            f"NDArray: a value of shape {tuple(v.shape)} cannot be broadcast to shape {tuple(target.shape)}, "
            "the shape of the assigned part"
        ) from None


def _numbers_as_arrays(entries: list[Any]) -> list[Any]:
    """Replaces numbers in a key that has arrays by arrays, as NumPy does; torch would index by the numbers first."""
    first = next(k for k in entries if isinstance(k, torch.Tensor))
    return [torch.full_like(first, k) if isinstance(k, int) else k for k in entries]


def _set_by_places(x: Any, entries: list[Any], v: Any) -> None:
    """`x[entries] = v`, by the positions in x's memory to which the key refers."""
    t = x.tensor
    axes = [a for a, k in enumerate(k for k in entries if k is not None) if _runs_backwards(k)]
    places = torch.arange(t.numel(), device=t.device).reshape(t.shape).flip(axes)
    places = places[tuple(_mirrored(entries, x.shape))]
    flat = t.view(-1)
    flat[places] = _fitting(v, flat[places]) if isinstance(v, torch.Tensor) else v


def set_item(x: Any, key: Any, value: Any) -> None:
    """`x[key] = value` in x's memory, broadcasting and casting the value."""
    if isinstance(key, slice) and key == slice(None) and x._can_take(value):
        _fill(x, value)
        return
    x._check_writable(value)
    t = x.tensor
    v = _value(value, t)
    if isinstance(key, slice) and key == slice(None):
        target, flips, where = t, [], None
    else:
        originals, arrays = _expanded(key, x)
        if arrays:
            originals = _numbers_as_arrays(originals)
        entries, flips = _without_negative_steps(originals, x.shape)
        if flips and arrays:  # as in get_item, the axes to flip are not known
            _set_by_places(x, originals, v)
            return
        where = tuple(entries)
        target = t[where]
    if isinstance(v, torch.Tensor):
        v = _fitting(v, target)
        if flips:
            v = v.flip(flips)
    if where is None or not any(isinstance(k, torch.Tensor) for k in where):
        if isinstance(v, torch.Tensor):
            target.copy_(v)
        else:
            target.fill_(v)
    else:
        t[where] = v
