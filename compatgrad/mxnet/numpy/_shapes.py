"""Functions of `mx.np` that tell shapes and change them.

Results have memory of their own (`_C.own`), as the original's: writing to them leaves the arguments as they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as onp

from compatgrad import _C

from ..base import MXNetError
from ..ndarray._operator import op
from ._arguments import _array, _axis, _order
from ._array import finish, ndarray

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "expand_dims", "moveaxis", "ndim", "ravel", "reshape",
    "shape", "size", "squeeze", "swapaxes", "transpose",
]  # fmt: skip


def shape(a: Any) -> tuple[int, ...]:
    """The lengths of the axes."""
    return tuple(a.shape) if hasattr(a, "shape") else onp.shape(a)


def ndim(a: Any) -> int:
    """The number of axes."""
    return len(shape(a))


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the length of an axis."""
    return math.prod(shape(a)) if axis is None else shape(a)[axis]


def reshape(a: Any, newshape: Any, order: str = "C", out: Any = None) -> ndarray:
    """The same elements in another shape, of which one length may be -1. MXNetError where their number differs."""
    _order("reshape", order)
    x = _array("reshape", a)
    new = (int(newshape),) if isinstance(newshape, (int, onp.integer)) else tuple(int(n) for n in newshape)
    known = math.prod(n for n in new if n != -1)
    if new.count(-1) > 1 or any(n < -1 for n in new) or (
        known != x.size if -1 not in new else (x.size % known if known else x.size)
    ):  # fmt: skip
        raise MXNetError(f"reshape: cannot reshape an array of shape {x.shape} into {new}")
    if -1 in new and not known:
        new = tuple(0 if n == -1 else n for n in new)
    return finish(_C.own(op.reshape(x, shape=new), x), out)


def ravel(x: Any, order: str = "C") -> ndarray:
    """The elements in one axis."""
    return reshape(x, -1, order=order)


def transpose(a: Any, axes: Any = None) -> ndarray:
    """The axes in another order, or reversed."""
    x = _array("transpose", a)
    if axes is None:
        return _C.own(op.transpose(x), x)
    axes = tuple(_axis("transpose", i, x.ndim) for i in axes) or tuple(range(x.ndim))[::-1]  # () too reverses
    if len(set(axes)) < len(axes):
        raise ValueError(f"transpose: an axis is repeated in {axes}")
    if sorted(axes) != list(range(x.ndim)):
        raise MXNetError(f"transpose: axes {axes} are no permutation for an array of shape {x.shape}")
    return _C.own(op.transpose(x, axes=axes), x)


def swapaxes(a: Any, axis1: int, axis2: int) -> ndarray:
    """Two axes exchanged."""
    x = _array("swapaxes", a)
    order = list(range(x.ndim))
    i, j = _axis("swapaxes", axis1, x.ndim), _axis("swapaxes", axis2, x.ndim)
    order[i], order[j] = j, i
    return _C.own(op.transpose(x, axes=tuple(order)), x)


def moveaxis(a: Any, source: Any, destination: Any) -> ndarray:
    """Axes at other places."""
    x = _array("moveaxis", a)
    src, dst = ([v] if isinstance(v, int) else list(v) for v in (source, destination))
    src, dst = [_axis("moveaxis", i, x.ndim) for i in src], [_axis("moveaxis", i, x.ndim) for i in dst]
    if len(src) != len(dst):
        raise ValueError(
            f"moveaxis: source and destination must have the same number of elements, got {source} and {destination}"
        )
    order = [i for i in range(x.ndim) if i not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return _C.own(op.transpose(x, axes=tuple(order)), x)


def expand_dims(a: Any, axis: Any) -> ndarray:
    """New axes of length 1."""
    y = x = _array("expand_dims", a)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    n = x.ndim + len(axes)
    for i in sorted(_axis("expand_dims", i, n) for i in axes):
        y = op.expand_dims(y, axis=i)
    return _C.own(y, x)


def squeeze(a: Any, axis: Any = None, out: Any = None) -> ndarray:
    """Without axes of length 1. MXNetError for a longer one."""
    x = _array("squeeze", a)
    return finish(_C.own(_squeezed(x, axis), x), out)


def _squeezed(x: ndarray, axis: Any) -> ndarray:
    if axis is None:
        return op.squeeze(x)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if not x.ndim and set(axes) <= {0, -1}:
        return op.copy(x)
    axes = tuple(_axis("squeeze", i, x.ndim) for i in axes)
    if any(x.shape[i] != 1 for i in axes):
        raise MXNetError(f"squeeze: axis {axis} of an array of shape {x.shape} is longer than 1")
    return op.reshape(x, shape=tuple(n for i, n in enumerate(x.shape) if i not in axes))


def _atleast(n: int, arys: tuple[Any, ...]) -> Any:
    result = []
    for a in arys:
        y = x = _array(f"atleast_{n}d", a)
        if x.ndim < n:
            ones_before = 1 if n == 3 and x.ndim == 1 else 0 if n == 3 and x.ndim == 2 else n - x.ndim
            y = op.reshape(x, shape=(1,) * ones_before + x.shape + (1,) * (n - x.ndim - ones_before))
        result.append(_C.own(y, x))
    return result[0] if len(result) == 1 else result


def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis."""
    return _atleast(1, arys)


def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes."""
    return _atleast(2, arys)


def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three axes."""
    return _atleast(3, arys)
