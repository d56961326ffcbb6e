"""Functions of `mx.np` that give or change shapes.

As in the original, results have separate memory (`_C.own`): writing to a result does not change the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from compatgrad import _C

from .._docs import sharing
from ..base import MXNetError
from ..ndarray._arguments import as_ints
from ..ndarray._operator import op
from ._arguments import _array, _axis, _order
from ._array import finish, ndarray
from ._docs import documented

if TYPE_CHECKING:
    from .._typing import Shape

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "expand_dims", "moveaxis", "ndim", "ravel", "reshape",
    "shape", "size", "squeeze", "swapaxes", "transpose",
]  # fmt: skip


@documented
def shape(a: Any) -> tuple[int, ...]:
    """The lengths of all axes.

    Args:
        a: an array, a number or nested sequences.

    Returns:
        A tuple of integers.

    Raises:
        ValueError: rows of nested sequences differ in length.

    Example:
        >>> mx.np.shape(mx.np.ones((2, 3)))
        (2, 3)
    """
    return tuple(a.shape) if hasattr(a, "shape") else onp.shape(a)


@documented
def ndim(a: Any) -> int:
    """The number of axes.

    Args:
        a: an array, a number or nested sequences.

    Returns:
        int.

    Raises:
        ValueError: rows of nested sequences differ in length.

    Example:
        >>> mx.np.ndim(mx.np.ones((2, 3)))
        2
    """
    return len(shape(a))


@documented
def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the length of an axis.

    Args:
        a: an array, a number or nested sequences.
        axis: the axis; None counts all elements.

    Returns:
        int.

    Raises:
        IndexError: there is no such axis.
        ValueError: rows of nested sequences differ in length.

    Example:
        >>> x = mx.np.ones((2, 3))
        >>> mx.np.size(x), mx.np.size(x, 1)
        (6, 3)
    """
    return math.prod(shape(a)) if axis is None else shape(a)[axis]


@documented
def reshape(a: ndarray, newshape: Shape, order: str = "C", out: ndarray | None = None) -> ndarray:
    """The same elements in another shape, copied to new memory.

    Args:
        newshape: an integer, or a sequence of them, of which one may be -1: the length that is left.

    Raises:
        AssertionError: `a` is no array.
        NotImplementedError: `order` is not "C".
        mxnet.base.MXNetError: the number of elements differs.

    Example:
        >>> mx.np.reshape(mx.np.arange(6), (2, -1))
        array([[0., 1., 2.],
               [3., 4., 5.]])
    """
    _order("reshape", order)
    x = _array("reshape", a)
    new = tuple(as_ints("reshape", "newshape", newshape))
    known = math.prod(n for n in new if n != -1)
    if new.count(-1) > 1 or any(n < -1 for n in new) or (
        known != x.size if -1 not in new else (x.size % known if known else x.size)
    ):  # fmt: skip
        raise MXNetError(f"reshape: cannot reshape an array of shape {x.shape} into {new}")
    if -1 in new and not known:
        new = tuple(0 if n == -1 else n for n in new)
    return finish(_C.own(op.reshape(x, shape=new), x), out)


@documented
def ravel(x: ndarray, order: str = "C") -> ndarray:
    """The elements in one axis, copied to new memory.

    Raises:
        AssertionError: `x` is no array.
        NotImplementedError: `order` is not "C".

    Example:
        >>> mx.np.ravel(mx.np.ones((2, 2)))
        array([1., 1., 1., 1.])
    """
    return reshape(x, -1, order=order)


@documented
def transpose(a: ndarray, axes: Sequence[int] | None = None) -> ndarray:
    """The axes in another order.

    Args:
        axes: all axes of `a` in their new order; None reverses them.

    Raises:
        AssertionError: `a` is no array.
        ValueError: an axis is repeated.
        mxnet.base.MXNetError: an axis is out of bounds, or missing.

    Example:
        >>> mx.np.transpose(mx.np.ones((2, 3, 4)), (1, 0, 2)).shape
        (3, 2, 4)
    """
    x = _array("transpose", a)
    if axes is None:
        return _C.own(op.transpose(x), x)
    axes = tuple(_axis("transpose", i, x.ndim) for i in axes) or tuple(range(x.ndim))[::-1]  # () too reverses
    if len(set(axes)) < len(axes):
        raise ValueError(f"transpose: an axis is repeated in {axes}")
    if sorted(axes) != list(range(x.ndim)):
        raise MXNetError(f"transpose: axes {axes} are no permutation for an array of shape {x.shape}")
    return _C.own(op.transpose(x, axes=axes), x)


@documented
def swapaxes(a: ndarray, axis1: int, axis2: int) -> ndarray:
    """Two axes exchanged.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds.

    Example:
        >>> mx.np.swapaxes(mx.np.ones((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
    """
    x = _array("swapaxes", a)
    order = list(range(x.ndim))
    i, j = _axis("swapaxes", axis1, x.ndim), _axis("swapaxes", axis2, x.ndim)
    order[i], order[j] = j, i
    return _C.own(op.transpose(x, axes=tuple(order)), x)


@documented
def moveaxis(a: ndarray, source: int | Sequence[int], destination: int | Sequence[int]) -> ndarray:
    """Axes moved to other places; the other ones keep their order.

    Args:
        source: an axis, or a sequence of axes.
        destination: where each of them goes.

    Raises:
        AssertionError: `a` is no array.
        ValueError: `source` and `destination` differ in length.
        mxnet.base.MXNetError: an axis is out of bounds.

    Example:
        >>> mx.np.moveaxis(mx.np.ones((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
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


@documented
def expand_dims(a: ndarray, axis: int | Sequence[int]) -> ndarray:
    """New axes of length 1.

    Args:
        axis: where a new axis stands in the result, or a sequence of such places.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds.

    Example:
        >>> mx.np.expand_dims(mx.np.ones((2, 3)), 1).shape
        (2, 1, 3)
    """
    y = x = _array("expand_dims", a)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    n = x.ndim + len(axes)
    for i in sorted(_axis("expand_dims", i, n) for i in axes):
        y = op.expand_dims(y, axis=i)
    return _C.own(y, x)


@documented
def squeeze(a: ndarray, axis: int | Sequence[int] | None = None, out: ndarray | None = None) -> ndarray:
    """Removes axes of length 1.

    Args:
        axis: an axis, or a sequence of axes; None is all of length 1.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds, or longer than 1.

    Example:
        >>> mx.np.squeeze(mx.np.ones((1, 2, 1)), 0).shape
        (2, 1)
    """
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


_AT_LEAST = """
    Returns:
        ndarray; a list of them for several.

    Raises:
        AssertionError: an argument is no array.
    """


@documented
@sharing(_AT_LEAST)
def atleast_1d(*arys: ndarray) -> ndarray | list[ndarray]:
    """Arrays with at least one axis.

    Args:
        *arys: ndarrays; one without axes gets one of length 1.

    Example:
        >>> mx.np.atleast_1d(mx.np.array(3.0))
        array([3.])
    """
    return _atleast(1, arys)


@documented
@sharing(_AT_LEAST)
def atleast_2d(*arys: ndarray) -> ndarray | list[ndarray]:
    """Arrays with at least two axes.

    Args:
        *arys: ndarrays; a vector becomes a row.

    Example:
        >>> mx.np.atleast_2d(mx.np.arange(2))
        array([[0., 1.]])
    """
    return _atleast(2, arys)


@documented
@sharing(_AT_LEAST)
def atleast_3d(*arys: ndarray) -> ndarray | list[ndarray]:
    """Arrays with at least three axes.

    Args:
        *arys: ndarrays; a vector of n elements gets the shape (1, n, 1), and an m x n matrix (m, n, 1).

    Example:
        >>> mx.np.atleast_3d(mx.np.arange(2)).shape
        (1, 2, 1)
    """
    return _atleast(3, arys)
