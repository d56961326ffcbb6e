"""``x[key]`` and ``x[key] = value`` of Variable and NdArray: basic indexing, or index arrays for leading axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from compatgrad.nnabla import functions as F
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.variable import Variable, _around

_SEQUENCES = (tuple, list, np.ndarray, NdArray, Variable)
_BASIC = (slice, int, np.integer, type(Ellipsis), type(None))


def _split(key: Any) -> tuple[list[Any], bool]:
    """The parts of a key, and whether there are index arrays among them. Raises TypeError for other keys."""
    if isinstance(key, (list, np.ndarray, NdArray, Variable)):
        return [key], True
    if isinstance(key, _BASIC):
        return [key], False
    if isinstance(key, tuple):
        return list(key), any(isinstance(k, _SEQUENCES) for k in key)
    raise TypeError(f"invalid index {key!r}")


def _basic(x: Any, parts: list[Any]) -> tuple[list[Any], list[slice]]:
    """The key with one entry for each axis and each new axis, and a slice for each axis. Raises IndexError for an index
    out of range."""
    ellipses = [i for i, k in enumerate(parts) if k is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(k is not None and k is not Ellipsis for k in parts)
    if used > x.ndim:
        raise IndexError(f"too many indices for {x.ndim}-D array")
    at = ellipses[0] if ellipses else len(parts)
    full = parts[:at] + [slice(None)] * (x.ndim - used) + parts[at + len(ellipses) :]
    slices = []
    for k in full:
        if k is None:
            continue
        axis = len(slices)
        if isinstance(k, (int, np.integer)):
            n = x.shape[axis]
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of bounds for axis {axis} with size {n}")
            k = int(k) % n
            slices.append(slice(k, k + 1, 1))
        else:
            slices.append(k)
    return full, slices


def _shape(full: list[Any], sliced: tuple[int, ...]) -> tuple[int, ...]:
    """The result's shape: integers drop their axis, None adds one."""
    lengths = iter(sliced)
    shape = []
    for k in full:
        if k is None:
            shape.append(1)
            continue
        n = next(lengths)
        if not isinstance(k, (int, np.integer)):
            shape.append(n)
    return tuple(shape)


def _slice(x: Any, slices: list[slice]) -> Any:
    return F.slice(x, tuple(s.start for s in slices), tuple(s.stop for s in slices), tuple(s.step for s in slices))


def _is_boolean(k: Any) -> bool:
    if isinstance(k, (tuple, list)):
        return bool(k) and all(isinstance(v, bool) for v in k)
    if isinstance(k, np.ndarray):
        return k.dtype == bool
    data = k.data if isinstance(k, Variable) else k
    return isinstance(data, NdArray) and data._typed and data.dtype == bool


def _indices(parts: list[Any]) -> Any:
    """An array with a row of indices for each indexed axis. A boolean array stands for the positions that are true at
    the time of the call."""
    if len(parts) == 1 and _is_boolean(parts[0]):
        mask = parts[0]
        if isinstance(mask, Variable):
            mask = mask.d
        elif isinstance(mask, NdArray):
            mask = mask.data
        return np.vstack(np.nonzero(np.asarray(mask)))
    if all(isinstance(k, (NdArray, Variable)) for k in parts):
        return F.stack(*parts)
    if all(isinstance(k, (int, np.integer, tuple, list, np.ndarray)) for k in parts):
        return np.array(parts)
    raise NotImplementedError(f"mixed advanced indexing: {', '.join(repr(k) for k in parts)}")


def getitem(x: Any, key: Any) -> Any:
    """x[key]. Raises IndexError for an index out of range, TypeError for an invalid key, and NotImplementedError for
    index arrays together with slices."""
    parts, arrays = _split(key)
    if not arrays:
        full, slices = _basic(x, parts)
        y = _slice(x, slices)
        shape = _shape(full, y.shape)
        return y if shape == y.shape else F.reshape(y, shape)
    given = [k for k in parts if k is not None]
    y = F.gather_nd(x, _indices(given))
    new = [k is None for k in parts]
    if any(new):
        leading = new.index(False)
        shape = (1,) * leading + y.shape[:1] + (1,) * (sum(new) - leading) + y.shape[1:]
        y = F.reshape(y, shape)
    return y


def setitem(x: Any, key: Any, value: Any) -> Any:
    """Adds the function that writes `value`, broadcast to the shape of x[key], into the array of x, which becomes
    float32."""
    if not isinstance(value, (NdArray, Variable)):
        value = NdArray.from_numpy_array(np.asarray(value))
    parts, arrays = _split(key)
    if not arrays:
        full, slices = _basic(x, parts)
        places = [np.arange(n)[s] for n, s in zip(x.shape, slices, strict=True)]
        inner = tuple(len(p) for p in places)
        shape = _shape(full, inner)
        if value.shape != shape:
            value = _broadcast(value, shape)
        if value.shape != inner:
            value = F.reshape(value, inner)
        indices = np.array(np.meshgrid(*places, indexing="ij")).reshape((len(places), *inner))
        return _scatter(x, indices, value)
    new = [k is None for k in parts]
    if any(new):
        leading = new.index(False)
        value = F.reshape(value, value.shape[leading : leading + 1] + value.shape[sum(new) + 1 :])
    indices = _indices([k for k in parts if k is not None])
    shape = tuple(indices.shape[1:]) + x.shape[indices.shape[0] :]
    return _scatter(x, indices, value if value.shape == shape else _broadcast(value, shape))


def _scatter(x: Any, indices: Any, value: Any) -> Any:
    array = x.data if isinstance(x, Variable) else x
    if array._dtype not in (torch.float32, torch.float16):
        array._set_dtype(torch.float32)  # the function computes in this dtype, and would write into a copy
    return F.scatter_nd(value, indices, out=x)


def _broadcast(value: Any, shape: tuple[int, ...]) -> Any:
    value = F.reshape(value, (1,) * (len(shape) - value.ndim) + value.shape)
    return F.broadcast(value, shape=shape)


def set_variable_item(x: Variable, key: Any, value: Any) -> None:
    if isinstance(value, NdArray):
        value = _around(value)
    elif not isinstance(value, Variable):
        value = Variable.from_numpy_array(value)
    before = x.get_unlinked_variable()
    if x.parent is not None:
        before.parent = x.parent
    x.rewire_on(setitem(before, key, value))
    x.data = before.data.view(x.shape)
