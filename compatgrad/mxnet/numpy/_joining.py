"""Functions of `mx.np` that join arrays and cut them."""

from __future__ import annotations

from typing import Any

import numpy as onp

from compatgrad import _C

from ..base import MXNetError
from ..ndarray._operator import op
from ._arguments import _array, _axis
from ._array import finish, ndarray, promoted
from ._shapes import atleast_1d, atleast_2d, atleast_3d, ravel, reshape

__all__ = [
    "append", "array_split", "column_stack", "concatenate", "dsplit", "dstack", "hsplit", "hstack", "row_stack",
    "split", "stack", "vsplit", "vstack",
]  # fmt: skip


def _sequence(who: str, seq: Any) -> list[Any]:
    xs = [_array(who, x, f"seq[{i}]") for i, x in enumerate(seq)]
    if not xs:
        raise ValueError(f"{who}: need at least one array")
    return [ndarray._around(x) for x in promoted(who, *xs)]


def _joined(who: str, body: Any, xs: list[Any], axis: int, out: Any) -> Any:
    try:
        return finish(body(xs, axis=axis), out)
    except (RuntimeError, ValueError, IndexError) as e:
        raise MXNetError(f"{who}: shapes {[x.shape for x in xs]} do not fit along axis {axis}: {e}") from None


def concatenate(seq: Any, axis: int | None = 0, out: Any = None) -> Any:
    """Arrays joined along an axis; None: flat."""
    xs = _sequence("concatenate", seq)
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    return _joined("concatenate", op.concat, xs, axis, out)


def stack(arrays: Any, axis: int = 0, out: Any = None) -> Any:
    """Arrays of one shape joined along a new axis."""
    return _joined("stack", op.stack, _sequence("stack", arrays), axis, out)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`values` behind `arr`."""
    return concatenate((arr, values), axis)


def vstack(arrays: Any, out: Any = None) -> Any:
    """Rows on top of each other."""
    return concatenate([atleast_2d(x) for x in arrays], 0, out)


def row_stack(arrays: Any) -> Any:
    """`vstack` under another name."""
    return vstack(arrays)


def hstack(arrays: Any) -> Any:
    """Arrays side by side: along the second axis, or the first of vectors."""
    xs = [atleast_1d(x) for x in arrays]
    return concatenate(xs, 0 if xs and xs[0].ndim == 1 else 1)


def dstack(arrays: Any) -> Any:
    """Arrays joined along the third axis."""
    return concatenate([atleast_3d(x) for x in arrays], 2)


def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix."""
    return concatenate([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in tup], 1)


def _cut(who: str, x: Any, sections: Any, axis: int, equal: bool) -> list[Any]:
    x = _array(who, x, "ary")
    axis = _axis(who, axis, x.ndim)
    n = x.shape[axis]
    if isinstance(sections, (int, onp.integer)):
        k = int(sections)
        if k <= 0:
            raise ValueError(f"{who}: the number of sections must be larger than 0")
        if equal and n % k:
            raise ValueError(f"{who}: axis {axis} of length {n} cannot be split into {k} equal parts")
        ends = onp.cumsum([0] + [n // k + (i < n % k) for i in range(k)]).tolist()
    else:
        ends = [0, *(int(i) for i in sections), n]
    lead = (slice(None),) * axis
    return [_C.own(op.get_item(x, index=(*lead, slice(a, b))), x) for a, b in zip(ends[:-1], ends[1:], strict=True)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array cut into equal parts, or before the given positions; a list."""
    return _cut("split", ary, indices_or_sections, axis, True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array cut into parts that need not be equal; a list."""
    return _cut("array_split", ary, indices_or_sections, axis, False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the first axis, one of two at least."""
    if _array("vsplit", ary, "ary").ndim < 2:
        raise ValueError(f"vsplit only works on arrays of 2 or more dimensions, got {ary.ndim}")
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the second axis, or the first of a vector."""
    if _array("hsplit", ary, "ary").ndim < 1:
        raise ValueError(f"hsplit only works on arrays of 1 or more dimensions, got {ary.ndim}")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the third axis."""
    if _array("dsplit", ary, "ary").ndim < 3:
        raise ValueError(f"dsplit only works on arrays of 3 or more dimensions, got {ary.ndim}")
    return split(ary, indices_or_sections, 2)
