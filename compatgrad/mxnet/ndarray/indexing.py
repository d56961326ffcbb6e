"""Operators that read or write slices and elements of arrays."""

from __future__ import annotations

import builtins
from typing import Any

import torch

from ..base import MXNetError
from . import _stored
from ._arguments import (
    as_index,
    as_ints,
    axis_in,
    bounded,
    choice,
    clipped,
    constant,
    public_names,
    require_shape,
    vector,
    whole,
    within,
    write_at,
)
from ._operator import op, operator
from .ndarray import NDArray, torch_dtype

_slice = builtins.slice


def _bounds(argument: str, value: Any) -> list[int | None]:
    """A tuple of integers and None from an argument."""
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    return [None if v is None else as_ints("slice", argument, v)[0] for v in values]


@operator("data", aliases=("crop",), method=True, stored=_stored.kept_rows)
def slice(data, begin, end, step=()):
    """data[begin[0]:end[0]:step[0], ...]; entries may be None, and axes that are not named are kept whole.

    MXNetError for more entries than axes, for `begin` and `end` of different lengths, and for a step of 0.

    Example:
        >>> nd.slice(nd.arange(6).reshape((2, 3)), begin=(0, 1), end=(None, 3)).asnumpy()
        array([[1., 2.],
               [4., 5.]], dtype=float32)
    """
    return op.get_item(data, index=_key(data, begin, end, step))


def _key(data: NDArray, begin: Any, end: Any, step: Any) -> tuple[builtins.slice, ...]:
    first, last = _bounds("begin", begin), _bounds("end", end)
    stride = ([] if step is None else _bounds("step", step)) or [None] * len(first)
    if len(first) != len(last) or len(stride) != len(first):
        raise MXNetError(f"slice: begin, end and step must have one length, got {begin}, {end} and {step}")
    if len(first) > data.tensor.dim():
        raise MXNetError(f"slice: {len(first)} axes are to be sliced, but data has the shape {data.shape}")
    if 0 in stride:
        raise MXNetError(f"slice: step must not be 0, got {step}")
    return tuple(map(_slice, first, last, stride))


@operator("lhs, rhs", aliases=("_crop_assign",))
def _slice_assign(lhs, rhs, begin, end, step=()):
    """A copy of `lhs` whose part [begin:end:step] is `rhs`."""
    key = _key(lhs, begin, end, step)
    require_shape("_slice_assign", "rhs", rhs.shape, op.get_item(NDArray(lhs.tensor), index=key).shape)
    filled = op.get_item_grad(rhs, index=key, shape=lhs.shape)
    inside = op.get_item_grad(NDArray(torch.ones_like(rhs.tensor)), index=key, shape=lhs.shape)
    return op.where(inside, filled, lhs)


@operator("data", aliases=("_crop_assign_scalar",))
def _slice_assign_scalar(data, scalar=0.0, begin=(), end=(), step=()):
    """A copy of `data` whose part [begin:end:step] is a number."""
    key = _key(data, begin, end, step)
    part = op.get_item(NDArray(data.tensor), index=key).tensor
    return _slice_assign(data, NDArray(torch.full_like(part, scalar)), begin, end, step)


def _write_slice(self: NDArray, rhs: Any, begin: Any, end: Any, step: Any = ()) -> NDArray:
    """Writes an array or a number into the part [begin:end:step] of an array, and returns that array."""
    self[_key(self, begin, end, step)] = rhs
    return self


def _write_number(self: NDArray, value: Any, begin: Any, end: Any, step: Any) -> NDArray:
    """`slice_assign` of a number."""
    return _write_slice(self, value, begin, end, step)


NDArray.slice_assign, NDArray.slice_assign_scalar = _write_slice, _write_number


@operator("data", method=True)
def slice_axis(data, axis, begin, end):
    """The part of an axis from `begin` up to `end`, which count from the end if negative; None is the end.

    MXNetError if that part is empty or reaches beyond the axis.

    Args:
        begin: the first index; negative ones count from the end.
        end: the index after the last; None is the end.

    Example:
        >>> nd.slice_axis(nd.arange(6).reshape((2, 3)), axis=1, begin=1, end=None).asnumpy()
        array([[1., 2.],
               [4., 5.]], dtype=float32)
    """
    axis = axis_in("slice_axis", axis, data.tensor.dim())
    n = data.shape[axis]
    first = begin + n if begin < 0 else begin
    last = n if end is None or end == "None" else end + n if end < 0 else end
    if not 0 <= first < last <= n:
        raise MXNetError(f"slice_axis: begin={begin} and end={end} are no part of axis {axis} of shape {data.shape}")
    return op.get_item(data, index=(*[_slice(None)] * axis, _slice(first, last)))


@operator("data, shape_like", method=True)
def slice_like(data, shape_like, axes=()):
    """The leading part of `data` that has the sizes of `shape_like`, in all axes or in `axes`.

    MXNetError if `data` is smaller.

    Args:
        axes: the axes that are cut; () is all.

    Example:
        >>> nd.slice_like(nd.ones((3, 4)), nd.zeros((2, 3))).shape
        (2, 3)
    """
    ndim, sizes = data.tensor.dim(), shape_like.shape
    chosen = [] if axes is None else as_ints("slice_like", "axes", axes)
    wanted = [axis_in("slice_like", a, ndim, "axes") for a in chosen]
    if not wanted:
        if len(sizes) != ndim:
            raise MXNetError(
                f"slice_like: without axes, data and shape_like must have the same number of axes, got "
                f"{data.shape} and {sizes}"
            )
        wanted, by = list(range(ndim)), list(range(ndim))
    else:
        by = [axis_in("slice_like", a, len(sizes), "axes") for a in wanted]
    index = [_slice(None)] * ndim
    for a, b in zip(wanted, by, strict=True):
        if data.shape[a] < sizes[b]:
            raise MXNetError(
                f"slice_like: axis {a} of data, of shape {data.shape}, is shorter than in shape_like, of shape {sizes}"
            )
        index[a] = _slice(0, sizes[b])
    return op.get_item(data, index=tuple(index))


@operator("a, indices", method=True, stored=_stored.kept_rows)
def take(a, indices, axis=0, mode="clip"):
    """Slices of `a` along an axis: shape a.shape[:axis] + indices.shape + a.shape[axis + 1:].

    Indices outside the axis are limited to it ("clip"), wrapped ("wrap"), or an MXNetError ("raise"). They have no
    gradient.

    Args:
        indices: integers of any dtype.
        mode: what happens to indices outside: "clip" moves them to the ends, "wrap" takes them modulo the length.

    Returns:
        NDArray of the dtype of `a`, with the shape of `indices` instead of the axis.

    Example:
        >>> nd.take(nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([1, 0, 1])).asnumpy()
        array([[3., 4.],
               [1., 2.],
               [3., 4.]], dtype=float32)
    """
    choice("take", "mode", mode)
    ndim = a.tensor.dim()
    axis = axis_in("take", axis, ndim)
    index = NDArray(bounded("take", as_index(indices), a.shape[axis], mode))
    return op.embedding(a, index) if axis == 0 and ndim == 2 else op.gather(a, index, axis=axis)


@operator("a, indices")
def batch_take(a, indices):
    """One element of each row: a[i, indices[i]].

    Args:
        a: shape (n, ...).
        indices: a column for each row, shape (n,).

    Example:
        >>> nd.batch_take(nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([1, 0], dtype="int32")).asnumpy()
        array([2., 3.], dtype=float32)
    """
    require_shape("batch_take", "indices", indices.shape, a.shape[:1])
    return _along(a, as_index(indices).reshape(-1, 1), 1, False)


def _along(data: NDArray, index: torch.Tensor, axis: int, keepdims: bool) -> NDArray:
    """One element of each line along an axis, at an index of length 1 there."""
    if axis == 1 and not keepdims and data.tensor.dim() == 2:
        return op.select_item(data, NDArray(clipped(index.reshape(-1), data.shape[1])))
    y = op.gather_along(data, NDArray(clipped(index, data.shape[axis])), axis=axis)
    return y if keepdims else vector(op.squeeze(y, axis=[axis]))


@operator("data, index", aliases=("choose_element_0index",), method=True)
def pick(data, index, axis=-1, keepdims=False, mode="clip"):
    """One element of each line along `axis`, at the positions `index`, whose shape is data's without that axis.

    Positions outside the axis are limited to it ("clip") or wrapped ("wrap").

    Args:
        index: places along the axis, of the shape of `data` without it, or with length 1.
        mode: what happens to places outside: "clip" or "wrap".

    Example:
        >>> nd.pick(nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([1, 0])).asnumpy()
        array([2., 3.], dtype=float32)
    """
    choice("pick", "mode", mode)
    if axis is None:
        raise MXNetError("pick: axis=None is not supported; name an axis")
    axis = axis_in("pick", axis, data.tensor.dim())
    shape = data.shape[:axis] + (1,) + data.shape[axis + 1 :]
    without = data.shape[:axis] + data.shape[axis + 1 :] or (1,)
    if index.shape not in (shape, without):
        raise MXNetError(f"pick: index must have the shape {without} or {shape}, got {index.shape}")
    positions = as_index(index).reshape(shape)
    return _along(data, bounded("pick", positions, data.shape[axis], mode), axis, keepdims)


@operator("lhs, mhs, rhs")
def fill_element_0index(lhs, mhs, rhs):
    """`lhs` with element rhs[i] of row i replaced by mhs[i].

    Args:
        lhs: a matrix.
        mhs (NDArray): a number for each row.
        rhs: a column for each row.

    Example:
        >>> nd.fill_element_0index(nd.zeros((2, 3)), nd.array([5.0, 6.0]), nd.array([0, 2])).asnumpy()
        array([[5., 0., 0.],
               [0., 0., 6.]], dtype=float32)
    """
    require_shape("fill_element_0index", "mhs", mhs.shape, lhs.shape[:1])
    require_shape("fill_element_0index", "rhs", rhs.shape, lhs.shape[:1])
    column = clipped(as_index(rhs), lhs.shape[1])
    return write_at(lhs, torch.stack([torch.arange(len(column), device=column.device), column]), mhs)


@operator("data, indices")
def gather_nd(data, indices):
    """data[indices[0], indices[1], ...]: shape indices.shape[1:] + data.shape[len(indices):].

    Indices may count from the end. IndexError for one outside its axis, MXNetError for more of them than axes.

    Args:
        indices: shape (m, ...), a column of m indices for each place.

    Example:
        >>> nd.gather_nd(nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([[1, 0], [0, 1]])).asnumpy()
        array([3., 2.], dtype=float32)
    """
    if indices.tensor.dim() < 2:
        raise MXNetError(f"gather_nd: indices must have at least 2 dimensions, got the shape {indices.shape}")
    if indices.shape[0] > data.tensor.dim():
        raise MXNetError(f"gather_nd: {indices.shape[0]} indices exceed the axes of data, of shape {data.shape}")
    return vector(op.gather_nd(data, NDArray(within("gather_nd", as_index(indices), data.shape))))


@operator("data, indices")
def scatter_nd(data, indices, shape):
    """Zeros of `shape` with data[i, ...] at [indices[0, i], indices[1, i], ...]; of equal indices the last one counts.

    MXNetError if shapes do not fit, IndexError for an index outside its axis.

    Args:
        data: what is written, shape (..., rest).
        indices: shape (m, ...), a column of m indices for each place.

    Example:
        >>> nd.scatter_nd(nd.array([5.0, 6.0]), nd.array([[0, 2]]), shape=(4,)).asnumpy()
        array([5., 0., 6., 0.], dtype=float32)
    """
    shape = as_ints("scatter_nd", "shape", shape)
    if indices.tensor.dim() < 2 or indices.shape[0] > len(shape):
        raise MXNetError(f"scatter_nd: indices of shape {indices.shape} do not fit the shape {tuple(shape)}")
    require_shape("scatter_nd", "data", data.shape, (*indices.shape[1:], *shape[indices.shape[0] :]))
    return op.scatter_nd(data, NDArray(within("scatter_nd", as_index(indices), tuple(shape))), shape=shape)


@operator("indices", method=True)
def one_hot(indices, depth, on_value=1.0, off_value=0.0, dtype="float32"):
    """`on_value` at the position of each index along a new last axis of length `depth`, else `off_value`.

    Rows of indices outside [0, depth) hold `off_value` only. It has no gradient.

    Args:
        dtype: the dtype of the result.

    Returns:
        NDArray of `dtype`, shape (*indices.shape, depth).

    Example:
        >>> nd.one_hot(nd.array([0, 2]), depth=3).asnumpy()
        array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    index = as_index(indices)
    t = torch_dtype(dtype, "one_hot: dtype")
    depth = whole("one_hot", "depth", depth)
    y = torch.full((*index.shape, depth), off_value, dtype=t, device=index.device)
    hit = index.unsqueeze(-1) == torch.arange(depth, device=index.device)
    return constant(y.masked_fill_(hit, on_value), indices)


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Writes ones into the columns given by `indices`, and zeros elsewhere.

    Args:
        indices: a column for each row, shape (n,), of any dtype; rows of an index outside get zeros only.
        out: where it is written, shape (n, columns).

    Returns:
        NDArray: `out`.

    Raises:
        AssertionError: `indices` is no NDArray.
        mxnet.base.MXNetError: `out` has another number of rows.

    Example:
        >>> nd.onehot_encode(nd.array([1, 0]), nd.zeros((2, 3))).asnumpy()
        array([[0., 1., 0.],
               [1., 0., 0.]], dtype=float32)

    Source: `mxnet.nd.onehot_encode` of MXNet 1.9.1.
    """
    return one_hot(indices, depth=out.shape[1], dtype=out.dtype, out=out)


@operator("data")
def ravel_multi_index(data, shape=None):
    """Positions (axes, n) in an array of `shape` as positions (n,) in it flattened. No gradient.

    Args:
        data: a column of indices for each place, shape (axes, n).
        shape: the shape of the array that is indexed.

    Example:
        >>> nd.ravel_multi_index(nd.array([[1, 0], [2, 1]]), shape=(2, 3)).asnumpy()
        array([5., 1.], dtype=float32)
    """
    shape = as_ints("ravel_multi_index", "shape", () if shape is None else shape)
    if not shape:
        raise MXNetError("ravel_multi_index: shape must not be empty")
    if data.tensor.dim() != 2 or data.shape[0] != len(shape):
        raise MXNetError(f"ravel_multi_index: data must have the shape ({len(shape)}, n), got {data.shape}")
    index = as_index(data)
    y = index[0]
    for n, i in zip(shape[1:], index[1:], strict=True):
        y = y * n + i
    return constant(y.to(data.tensor.dtype), data)


@operator("data")
def unravel_index(data, shape=None):
    """Positions in a flattened array of `shape` as positions (axes, ...) in it. No gradient.

    Args:
        data: places in the array as one row, shape (n,).
        shape: the shape of the array that is indexed.

    Example:
        >>> nd.unravel_index(nd.array([5, 1]), shape=(2, 3)).asnumpy()
        array([[1., 0.],
               [2., 1.]], dtype=float32)
    """
    shape = as_ints("unravel_index", "shape", () if shape is None else shape)
    if not shape:
        raise MXNetError("unravel_index: shape must not be empty")
    rest, rows = as_index(data), []
    for n in shape[:0:-1]:
        rows.append(rest.remainder(n))
        rest = rest.div(n, rounding_mode="floor")
    return constant(torch.stack([rest, *rows[::-1]]).to(data.tensor.dtype), data)


__all__ = public_names(globals(), "onehot_encode")
