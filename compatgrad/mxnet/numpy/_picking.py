"""Functions of `mx.np` that repeat, take, flip, rotate and shift elements, and those of diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as onp
import torch

from compatgrad import _C

from ..base import MXNetError
from ..ndarray._arguments import as_ints
from ..ndarray._operator import op
from ..ndarray.ndarray import NDArray
from ._arguments import _array, _axis
from ._array import constant, finish, ndarray
from ._docs import documented
from ._joining import _cut, concatenate
from ._shapes import moveaxis, ravel, reshape, swapaxes

if TYPE_CHECKING:
    from .._typing import Shape

__all__ = [
    "diag", "diagonal", "flip", "fliplr", "flipud", "repeat", "roll", "rot90", "take", "take_along_axis", "tile",
    "trace", "tril", "triu",
]  # fmt: skip


@documented
def tile(A: ndarray, reps: Shape) -> ndarray:
    """The array repeated as a whole along each axis.

    Args:
        A: ndarray of any shape and dtype.
        reps: how often, for each axis; fewer numbers than axes are for the last ones, more of them add axes.

    Raises:
        AssertionError: `A` is no array.
        ValueError: a number is negative.

    Example:
        >>> mx.np.tile(mx.np.array([1, 2]), 2)
        array([1., 2., 1., 2.])
    """
    x = _array("tile", A, "A")
    counts = tuple(as_ints("tile", "reps", reps))
    n = max(len(counts), x.ndim)
    x = op.reshape(x, shape=(1,) * (n - x.ndim) + x.shape)
    return op.tile(x, reps=(1,) * (n - len(counts)) + counts)


@documented
def repeat(a: ndarray, repeats: Shape, axis: int | None = None) -> ndarray:
    """Each element repeated.

    Args:
        repeats: how often: one number, or one for each element along the axis.
        axis: the axis; None is the flat array.

    Raises:
        AssertionError: `a` is no array.
        ValueError: there are more or fewer numbers than elements, or a negative one.
        mxnet.base.MXNetError: the axis is out of bounds.

    Example:
        >>> mx.np.repeat(mx.np.array([1, 2]), [1, 3])
        array([1., 2., 2., 2.])
    """
    x = _array("repeat", a)
    if axis is None:
        x, axis = ravel(x), 0
    counts = tuple(as_ints("repeat", "repeats", repeats))
    return op.repeat(x, repeats=counts, axis=_axis("repeat", axis, x.ndim))


@documented
def take(
    a: ndarray, indices: ndarray | Shape, axis: int | None = None, mode: str = "raise", out: ndarray | None = None
) -> ndarray:
    """The elements, or slices, at positions along an axis.

    Args:
        indices: an integer, nested sequences of them, or an ndarray; negative ones count from the end.
        axis: the axis; None is the flat array.
        mode: what happens beyond the ends: "raise" an error, "clip" to the ends, or "wrap" around.

    Returns:
        ndarray of the dtype of `a`, in whose shape that of `indices` stands instead of the axis.

    Raises:
        AssertionError: `a` is no array.
        ValueError: `mode` has another value.
        mxnet.base.MXNetError: the axis is out of bounds, or a position is, in mode "raise".

    Example:
        >>> mx.np.take(mx.np.array([5, 6, 7]), [0, -1])
        array([5., 7.])
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


@documented
def take_along_axis(arr: ndarray, indices: ndarray, axis: int) -> ndarray:
    """The elements at positions along an axis, which are given for each place of the other axes.

    Args:
        indices: ndarray of integers; its other axes broadcast with those of `arr`.

    Returns:
        ndarray of the dtype of `arr` and the shape of `indices`.

    Raises:
        AssertionError: `arr` or `indices` is no array.
        IndexError: a position is out of bounds.
        mxnet.base.MXNetError: the axis is out of bounds.

    Example:
        >>> x = mx.np.array([[10, 30, 20], [60, 40, 50]])
        >>> mx.np.take_along_axis(x, mx.np.array([[1], [0]], dtype="int64"), axis=1)
        array([[30.],
               [60.]])
    """
    x = _array("take_along_axis", arr, "arr")
    axis = _axis("take_along_axis", axis, x.ndim)
    i = _array("take_along_axis", indices, "indices").tensor.to(torch.int64)
    n = x.shape[axis]
    at = constant(torch.where(i < 0, i + n, i))
    try:
        return op.gather_along(x, at, axis=axis)
    except (IndexError, ValueError, RuntimeError) as e:
        raise IndexError(f"take_along_axis: {e}") from None


@documented
def flip(m: ndarray, axis: int | Sequence[int] | None = None, out: ndarray | None = None) -> ndarray:
    """The elements along axes in reverse order.

    Args:
        axis: the axis, or a sequence of axes; None is all of them.

    Raises:
        AssertionError: `m` is no array.
        mxnet.base.MXNetError: an axis is out of bounds.

    Example:
        >>> mx.np.flip(mx.np.array([[1, 2], [3, 4]]), axis=1)
        array([[2., 1.],
               [4., 3.]])
    """
    x = _array("flip", m, "m")
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return finish(op.flip(x, axis=tuple(_axis("flip", i, x.ndim) for i in axes)), out)


@documented
def flipud(m: ndarray) -> ndarray:
    """The first axis in reverse order.

    Raises:
        AssertionError: `m` is no array.
        mxnet.base.MXNetError: `m` has no axis.

    Example:
        >>> mx.np.flipud(mx.np.array([[1, 2], [3, 4]]))
        array([[3., 4.],
               [1., 2.]])
    """
    return flip(m, 0)


@documented
def fliplr(m: ndarray) -> ndarray:
    """The second axis in reverse order.

    Raises:
        AssertionError: `m` is no array.
        mxnet.base.MXNetError: `m` has no second axis.

    Example:
        >>> mx.np.fliplr(mx.np.array([[1, 2], [3, 4]]))
        array([[2., 1.],
               [4., 3.]])
    """
    return flip(m, 1)


@documented
def rot90(m: ndarray, k: int = 1, axes: tuple[int, int] = (0, 1)) -> ndarray:
    """Rotates the plane of two axes by 90 degrees.

    Args:
        k: how often; the way is from the first axis to the second one.
        axes: the two axes.

    Raises:
        AssertionError: `m` is no array.
        mxnet.base.MXNetError: an axis is out of bounds.

    Example:
        >>> mx.np.rot90(mx.np.array([[1, 2], [3, 4]]))
        array([[2., 4.],
               [1., 3.]])
    """
    x = _array("rot90", m, "m")
    for _ in range(k % 4):
        x = swapaxes(flip(x, axes[1]), *axes)
    return _C.own(x, m)


@documented
def roll(a: ndarray, shift: Shape, axis: int | Sequence[int] | None = None) -> ndarray:
    """Shifts elements along axes; those beyond the end reappear at the beginning.

    Args:
        shift: by how many places, one number or one for each axis.
        axis: the axis, or a sequence of axes; None is the flat array.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds.

    Example:
        >>> mx.np.roll(mx.np.array([1, 2, 3]), 1)
        array([3., 1., 2.])
    """
    x = _array("roll", a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    shifts, axes = ([v] if isinstance(v, int) else list(v) for v in (shift, axis))
    for s, i in zip(shifts * len(axes) if len(shifts) == 1 else shifts, axes, strict=True):
        n = x.shape[_axis("roll", i, x.ndim)]
        if n and s % n:
            x = concatenate(_cut("roll", x, [n - s % n], i, False)[::-1], axis=i)
    return _C.own(x, a)


@documented
def tril(m: ndarray, k: int = 0) -> ndarray:
    """The part of matrices below a diagonal, with zeros above it.

    Args:
        m: ndarray, whose last two axes are those of matrices; a vector is each row of a square matrix.
        k: the last diagonal that stays: above the main one if positive, below it if negative.

    Raises:
        AssertionError: `m` is no array.
        ValueError: `m` has no axis.

    Example:
        >>> mx.np.tril(mx.np.ones((3, 3)), -1)
        array([[0., 0., 0.],
               [1., 0., 0.],
               [1., 1., 0.]])
    """
    x = _array("tril", m, "m")
    return op.tril(x if x.ndim != 1 else op.broadcast_to(x, shape=x.shape * 2), k=k)


@documented
def triu(m: ndarray, k: int = 0) -> ndarray:
    """The part of matrices above a diagonal, with zeros below it.

    Args:
        m: ndarray, whose last two axes are those of matrices; a vector is each row of a square matrix.
        k: the first diagonal that stays: above the main one if positive, below it if negative.

    Raises:
        AssertionError: `m` is no array.
        ValueError: `m` has no axis.

    Example:
        >>> mx.np.triu(mx.np.ones((3, 3)), 1)
        array([[0., 1., 1.],
               [0., 0., 1.],
               [0., 0., 0.]])
    """
    x = _array("triu", m, "m")
    return op.triu(x if x.ndim != 1 else op.broadcast_to(x, shape=x.shape * 2), k=k)


@documented
def diagonal(a: ndarray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """A diagonal of two axes, which becomes the last axis.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds, or both are the same.

    Example:
        >>> mx.np.diagonal(mx.np.array([[1, 2], [3, 4]]))
        array([1., 4.])
    """
    x = _array("diagonal", a)
    i, j = _axis("diagonal", axis1, x.ndim), _axis("diagonal", axis2, x.ndim)
    if i == j:
        raise MXNetError(f"diagonal: axis1 and axis2 must be different axes, got {axis1} and {axis2}")
    x = moveaxis(x, (i, j), (-2, -1))
    rows, columns = x.shape[-2:]
    n = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    at = torch.arange(n, device=x.tensor.device)
    return op.get_item(x, index=(Ellipsis, at + max(-offset, 0), at + max(offset, 0)))


@documented
def diag(array: ndarray, k: int = 0) -> ndarray:
    """The diagonal of a matrix, or the matrix that has a vector on a diagonal.

    Args:
        array: a matrix or a vector, ndarray.

    Raises:
        AssertionError: `array` is no array.
        mxnet.base.MXNetError: `array` has no axis.

    Example:
        >>> mx.np.diag(mx.np.array([1, 2]))
        array([[1., 0.],
               [0., 2.]])
        >>> mx.np.diag(mx.np.array([[1, 2], [3, 4]]), k=1)
        array([2.])
    """
    x = _array("diag", array, "array")
    if x.ndim != 1:
        return diagonal(x, k)
    n = x.shape[0] + abs(k)
    return op.diagonal_grad(x, shape=(n, n), offset=k)


@documented
def trace(a: ndarray, offset: int = 0, axis1: int = 0, axis2: int = 1, out: ndarray | None = None) -> ndarray:
    """The sum of a diagonal.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds, both are the same, or `out` has another shape than the result.

    Example:
        >>> mx.np.trace(mx.np.array([[1, 2], [3, 4]]))
        array(5.)
    """
    return finish(op.sum(diagonal(a, offset, axis1, axis2), axis=-1), out)
