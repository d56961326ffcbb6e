"""Functions of `mx.np` that join and split arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as onp

from compatgrad import _C

from .._docs import sharing
from ..base import MXNetError
from ..ndarray._operator import op
from ._arguments import _array, _axis
from ._array import finish, ndarray, promoted
from ._docs import documented
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


@documented
def concatenate(seq: Sequence[ndarray], axis: int | None = 0, out: ndarray | None = None) -> ndarray:
    """Joins arrays along an axis.

    Args:
        seq: a sequence of ndarrays, whose shapes are the same but for the axis.
        axis: the axis; None joins them flat.

    Returns:
        ndarray of the widest dtype of the arrays.

    Raises:
        AssertionError: an element of `seq` is no array.
        ValueError: `seq` is empty.
        mxnet.base.MXNetError: shapes do not fit, or there is no such axis.

    Example:
        >>> mx.np.concatenate([mx.np.ones((1, 2)), mx.np.zeros((1, 2))], axis=1)
        array([[1., 1., 0., 0.]])
    """
    xs = _sequence("concatenate", seq)
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    return _joined("concatenate", op.concat, xs, axis, out)


@documented
def stack(arrays: Sequence[ndarray], axis: int = 0, out: ndarray | None = None) -> ndarray:
    """Joins arrays of one shape along a new axis.

    Args:
        axis: where the new axis stands in the result.

    Returns:
        ndarray of the widest dtype of the arrays.

    Raises:
        AssertionError: an element of `arrays` is no array.
        ValueError: `arrays` is empty.
        mxnet.base.MXNetError: shapes differ, or there is no such axis.

    Example:
        >>> mx.np.stack([mx.np.ones(2), mx.np.zeros(2)], axis=1)
        array([[1., 0.],
               [1., 0.]])
    """
    return _joined("stack", op.stack, _sequence("stack", arrays), axis, out)


@documented
def append(arr: ndarray, values: ndarray, axis: int | None = None) -> ndarray:
    """Appends `values` to `arr`.

    Args:
        values: ndarray whose shape is that of `arr` but for the axis.
        axis: the axis; None joins both flat.

    Returns:
        ndarray of the wider dtype of both.

    Raises:
        AssertionError: `arr` or `values` is no array.
        mxnet.base.MXNetError: shapes do not fit, or there is no such axis.

    Example:
        >>> mx.np.append(mx.np.ones(2), mx.np.zeros(1))
        array([1., 1., 0.])
    """
    return concatenate((arr, values), axis)


_STACK = """
    Returns:
        ndarray of the widest dtype of the arrays.

    Raises:
        AssertionError: an element of `{argument}` is no array.
        ValueError: `{argument}` is empty.
        mxnet.base.MXNetError: shapes do not fit.
"""


@documented
@sharing(_STACK, argument="arrays")
def vstack(arrays: Sequence[ndarray], out: ndarray | None = None) -> ndarray:
    """Joins arrays along the first axis; vectors are rows.

    Example:
        >>> mx.np.vstack([mx.np.ones(2), mx.np.zeros((1, 2))])
        array([[1., 1.],
               [0., 0.]])
    """
    return concatenate([atleast_2d(x) for x in arrays], 0, out)


@documented
@sharing(_STACK, argument="arrays")
def row_stack(arrays: Sequence[ndarray]) -> ndarray:
    """Joins arrays along the first axis, like `vstack`; vectors are rows.

    Example:
        >>> mx.np.row_stack([mx.np.ones(2), mx.np.zeros(2)])
        array([[1., 1.],
               [0., 0.]])
    """
    return vstack(arrays)


@documented
@sharing(_STACK, argument="arrays")
def hstack(arrays: Sequence[ndarray]) -> ndarray:
    """Joins arrays along the second axis; vectors, and arrays without axes, along the first.

    Example:
        >>> mx.np.hstack([mx.np.ones(2), mx.np.zeros(1)])
        array([1., 1., 0.])
    """
    xs = [atleast_1d(x) for x in arrays]
    return concatenate(xs, 0 if xs and xs[0].ndim == 1 else 1)


@documented
@sharing(_STACK, argument="arrays")
def dstack(arrays: Sequence[ndarray]) -> ndarray:
    """Joins arrays along the third axis, which `atleast_3d` gives to those that have none.

    Example:
        >>> mx.np.dstack([mx.np.ones(2), mx.np.zeros(2)])
        array([[[1., 0.],
                [1., 0.]]])
    """
    return concatenate([atleast_3d(x) for x in arrays], 2)


@documented
@sharing(_STACK, argument="tup")
def column_stack(tup: Sequence[ndarray]) -> ndarray:
    """Joins arrays along the second axis; vectors are columns.

    Args:
        tup: a sequence of ndarrays.

    Example:
        >>> mx.np.column_stack([mx.np.ones(2), mx.np.zeros(2)])
        array([[1., 0.],
               [1., 0.]])
    """
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


@documented
def split(ary: ndarray, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[ndarray]:
    """Cuts an array into equal parts, or before given positions.

    Returns:
        A list of ndarrays in new memory.

    Raises:
        AssertionError: `ary` is no array.
        ValueError: the axis cannot be cut into so many equal parts, or their number is not positive.
        mxnet.base.MXNetError: the axis is out of bounds.

    Example:
        >>> mx.np.split(mx.np.arange(4), 2)
        [array([0., 1.]), array([2., 3.])]
        >>> mx.np.split(mx.np.arange(4), [1])
        [array([0.]), array([1., 2., 3.])]
    """
    return _cut("split", ary, indices_or_sections, axis, True)


@documented
def array_split(ary: ndarray, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[ndarray]:
    """Cuts an array into parts whose lengths differ by one at most, or before given positions.

    Returns:
        A list of ndarrays in new memory; the longer ones come first.

    Raises:
        AssertionError: `ary` is no array.
        ValueError: the number of parts is not positive.
        mxnet.base.MXNetError: the axis is out of bounds.

    Example:
        >>> mx.np.array_split(mx.np.arange(3), 2)
        [array([0., 1.]), array([2.])]
    """
    return _cut("array_split", ary, indices_or_sections, axis, False)


_SPLIT = """
    Returns:
        A list of ndarrays in new memory.

    Raises:
        AssertionError: `ary` is no array.
        ValueError: it has {lacking}, or cannot be cut into so many equal parts.
"""


@documented
@sharing(_SPLIT, lacking="less than two axes")
def vsplit(ary: ndarray, indices_or_sections: int | Sequence[int]) -> list[ndarray]:
    """Cuts an array along the first axis.

    Example:
        >>> mx.np.vsplit(mx.np.ones((2, 2)), 2)
        [array([[1., 1.]]), array([[1., 1.]])]
    """
    if _array("vsplit", ary, "ary").ndim < 2:
        raise ValueError(f"vsplit only works on arrays of 2 or more dimensions, got {ary.ndim}")
    return split(ary, indices_or_sections, 0)


@documented
@sharing(_SPLIT, lacking="no axis")
def hsplit(ary: ndarray, indices_or_sections: int | Sequence[int]) -> list[ndarray]:
    """Cuts an array along the second axis, or a vector along its only one.

    Example:
        >>> mx.np.hsplit(mx.np.arange(4), [1])
        [array([0.]), array([1., 2., 3.])]
    """
    if _array("hsplit", ary, "ary").ndim < 1:
        raise ValueError(f"hsplit only works on arrays of 1 or more dimensions, got {ary.ndim}")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@documented
@sharing(_SPLIT, lacking="less than three axes")
def dsplit(ary: ndarray, indices_or_sections: int | Sequence[int]) -> list[ndarray]:
    """Cuts an array along the third axis.

    Example:
        >>> [x.shape for x in mx.np.dsplit(mx.np.ones((2, 2, 4)), 2)]
        [(2, 2, 2), (2, 2, 2)]
    """
    if _array("dsplit", ary, "ary").ndim < 3:
        raise ValueError(f"dsplit only works on arrays of 3 or more dimensions, got {ary.ndim}")
    return split(ary, indices_or_sections, 2)
