"""Picking and writing elements by slices, indices, masks and order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.functions._checks import check_axis
from compatgrad.nnabla.variable import Variable

__all__ = [
    "bool_fill",
    "bool_gather",
    "bool_scatter",
    "gather",
    "gather_nd",
    "nonzero",
    "one_hot",
    "scatter_add",
    "scatter_nd",
    "searchsorted",
    "slice",
    "sort",
    "top_k_data",
    "top_k_grad",
    "unique",
]

_part = slice  # the name is the function's below


@function("Slice", "x", primitive=True)
def _slice(x: Any, start: Sequence[int], stop: Sequence[int], step: Sequence[int]) -> Any:
    if not len(start) == len(stop) == len(step):
        raise RuntimeError(
            f"slice: start, stop and step must have the same size, not {len(start)}, {len(stop)} and {len(step)}."
        )
    lead = x.ndim - len(start)
    if lead < 0:
        raise RuntimeError(f"slice: start has {len(start)} entries, but x has shape {tuple(x.shape)}.")
    if 0 in step:
        raise RuntimeError(f"slice: step cannot be zero, but is {tuple(step)}.")
    index = [_part(None)] * lead + [_part(*bounds) for bounds in zip(start, stop, step, strict=True)]
    return op.get_item(x, index=tuple(index))


def slice(
    x: Any,
    start: Sequence[int | None] | None = None,
    stop: Sequence[int | None] | None = None,
    step: Sequence[int | None] | None = None,
    n_outputs: int = -1,
    outputs: Any = None,
) -> Any:
    """The elements start[i], start[i] + step[i], ... before stop[i] along each axis, as Python's slices have them.

    Entries (or whole arguments) that are None mean the whole axis; fewer entries than axes belong to the last ones.
    Steps may be negative. RuntimeError for a step of 0 and for arguments of different sizes.
    """
    start = [0] * x.ndim if start is None else list(start)
    stop = list(x.shape) if stop is None else list(stop)
    step = [1] * x.ndim if step is None else list(step)
    for i, (first, end, by) in enumerate(zip(start, stop, step, strict=False)):
        down, n = by is not None and by < 0, x.shape[i] if i < x.ndim else 0
        if first is None:
            start[i] = -1 if down else 0
        if end is None:
            stop[i] = -n - 1 if down else n
        if by is None:
            step[i] = 1
    return _slice(x, start, stop, step, n_outputs=n_outputs, outputs=outputs)


@function("Gather", "x, Indices", primitive=True, integers=("Indices",))
def gather(x: Any, Indices: Any, axis: int = 0, batch_dims: int = 0) -> Any:  # noqa: N803 (nnabla's name)
    """x's slices along an axis at integer indices.

    Gives x.shape[:axis] + Indices.shape[batch_dims:] + x.shape[axis + 1:]; the first `batch_dims` axes of x and
    Indices belong together. RuntimeError for shapes that do not fit and indices out of range.
    """
    axis, batch_dims = check_axis("gather", axis or 0, x.ndim), batch_dims or 0
    if batch_dims > min(axis, Indices.ndim) or tuple(x.shape[:batch_dims]) != tuple(Indices.shape[:batch_dims]):
        raise RuntimeError(
            f"gather: the first batch_dims={batch_dims} axes of x {tuple(x.shape)} and indices "
            f"{tuple(Indices.shape)} must be equal, and axis ({axis}) not be among them."
        )
    return op.gather(x, Indices, axis=axis, batch_dims=batch_dims)


def _as_indices(indices: Any) -> Any:
    """Lists and arrays of indices as a Variable."""
    if isinstance(indices, Variable | NdArray):
        return indices
    return Variable.from_numpy_array(indices if isinstance(indices, np.ndarray) else np.asarray(indices, dtype=int))


@function("GatherNd", "x, indices", primitive=True, integers=("indices",))
def _gather_nd(x: Any, indices: Any) -> Any:
    if indices.ndim < 2:
        raise RuntimeError(f"gather_nd: indices must have at least 2 dimensions, not the shape {tuple(indices.shape)}.")
    if indices.shape[0] > x.ndim:
        raise RuntimeError(
            f"gather_nd: number of indices ({indices.shape[0]}) exceeds data dimension (shape {tuple(x.shape)})."
        )
    return op.gather_nd(x, indices)


def gather_nd(data: Any, indices: Any) -> Any:
    """data[indices[0], indices[1], ...].

    indices: integers, (M, ...) for the first M axes, negative ones count from the end; also a list or an array.
    Gives indices.shape[1:] + data.shape[M:]. RuntimeError for an index out of range.
    """
    return _gather_nd(data, _as_indices(indices))


@function("ScatterNd", "data, indices, out?", primitive=True, integers=("indices",), effects=True)
def _scatter_nd(data: Any, indices: Any, out: Any = None, shape: Sequence[int] | None = None, add: bool = False) -> Any:
    shape = list(out.shape if shape is None else shape)
    if indices.ndim < 2:
        raise RuntimeError(
            f"scatter_nd: indices must have at least 2 dimensions, not the shape {tuple(indices.shape)}."
        )
    depth, picked = indices.shape[0], tuple(indices.shape[1:])
    if depth > len(shape) or tuple(data.shape) != (*picked, *shape[depth:]):
        raise RuntimeError(
            f"scatter_nd: data of shape {tuple(data.shape)} and indices of shape {tuple(indices.shape)} "
            f"do not fit the output shape {tuple(shape)}."
        )
    return op.scatter_nd(data, indices, out, shape=shape, add=bool(add))


def scatter_nd(data: Any, indices: Any, shape: Any = None, out: Any = None, add: bool = False) -> Any:
    """An array of zeros of `shape`, or `out`, with data written (or added) at indices: y[indices[0], ...] = data.

    data: indices.shape[1:] + shape[M:] for indices (M, ...). `out` is changed in place and its memory is the result's.
    TypeError unless one of shape and out is given; RuntimeError for shapes that do not fit.
    """
    if shape is None and out is None:
        raise TypeError("scatter_nd: one of shape and out is needed, got neither.")
    if shape is not None and out is not None:
        raise TypeError("scatter_nd: one of shape and out is needed, got both.")
    if out is not None and not isinstance(out, Variable | NdArray):
        raise TypeError(f"scatter_nd: out must be a Variable or an NdArray, not {type(out).__name__}.")
    lengths = out.shape if out is not None else shape.tolist() if isinstance(shape, np.ndarray) else shape
    return _scatter_nd(data, _as_indices(indices), out, lengths, add)


@function("ScatterAdd", "x0, indices, x1", primitive=True, integers=("indices",))
def _scatter_add(x0: Any, indices: Any, x1: Any, axis: int = 0) -> Any:
    axis = axis or 0
    along = check_axis("scatter_add", axis, x0.ndim)
    fits = x0.ndim == indices.ndim == x1.ndim and all(
        t <= n1 and (t <= n0 or i == along)
        for i, (t, n0, n1) in enumerate(zip(indices.shape, x0.shape, x1.shape, strict=True))
    )
    if not fits:
        raise RuntimeError(
            f"scatter_add: indices of shape {tuple(indices.shape)} do not fit into x0 "
            f"{tuple(x0.shape)} and x1 {tuple(x1.shape)}."
        )
    return op.scatter_add_along(x0, indices, x1, axis=axis)


def scatter_add(x0: Any, indices: Any, x1: Any, axis: int | None = None) -> Any:
    """x0 with x1 added along an axis (the first if None): y[indices[i, j], j] += x1[i, j] for axis 0.

    indices: integers, on no axis longer than x1, nor than x0 but on `axis`. RuntimeError otherwise.
    """
    return _scatter_add(x0, indices, x1, 0 if axis is None else axis)


@function("OneHot", "x", primitive=True, integers=("x",))
def one_hot(x: Any, shape: Sequence[int]) -> Any:
    """Zeros with a one at the position that x names: (..., len(shape)) gives (..., *shape).

    Negative indices count from the end; where one is out of range there is no one. RuntimeError where x's last axis
    does not have as many elements as shape.
    """
    if x.ndim < 1 or x.shape[-1] != len(shape):
        raise RuntimeError(
            "one_hot: shape must have one length per index in x's last axis. "
            f"shape has {len(shape)}, x has shape {tuple(x.shape)}."
        )
    return op.one_hot(x, shape=[int(n) for n in shape])


def _check_mask(name: str, x: Any, mask: Any) -> None:
    if mask.ndim > x.ndim or tuple(x.shape[: mask.ndim]) != tuple(mask.shape):
        raise RuntimeError(
            f"{name}: the shape of mask must be the start of the input's, but they are "
            f"{tuple(mask.shape)} and {tuple(x.shape)}."
        )


@function("BoolGather", "input, mask", primitive=True, setup="data")
def bool_gather(input: Any, mask: Any) -> Any:
    """The slices of `input` at which `mask` is not zero, as rows.

    mask: input.shape[:k]. Gives (rows, elements of a slice), or (rows,) where the slices are elements. The mask must
    be there when the function is called: the shape depends on it. RuntimeError for other shapes.
    """
    _check_mask("bool_gather", input, mask)
    return op.bool_gather(input, mask)


@function("BoolScatter", "input, mask, output?", primitive=True, effects=True)
def bool_scatter(input: Any, mask: Any, output: Any = None) -> Any:
    """The reverse of `bool_gather`: zeros, or `output`, with the rows of `input` where `mask` is not zero.

    Gives mask.shape + input.shape[1:]. `output` is changed in place and its memory is the result's. RuntimeError where
    its shape is another.
    """
    shape = (*mask.shape, *input.shape[1:])
    if output is not None and tuple(output.shape) != shape:
        raise RuntimeError(
            "bool_scatter: output must have the shape that the inputs give, "
            f"but they are {tuple(output.shape)} and {shape}."
        )
    return op.bool_scatter(input, mask, output)


@function("BoolFill", "data, mask", primitive=True)
def bool_fill(data: Any, mask: Any, value: float = 0) -> Any:
    """`data` with `value` where `mask`, broadcast to its shape, is not zero. RuntimeError where it does not fit."""
    lead = data.ndim - mask.ndim
    if lead < 0 or any(m not in (1, n) for m, n in zip(mask.shape, data.shape[lead:], strict=True)):
        raise RuntimeError(
            f"bool_fill: mask of shape {tuple(mask.shape)} does not broadcast to data's shape {tuple(data.shape)}."
        )
    return op.bool_fill(data, mask, value=value or 0.0)


@function("NonZero", "x", primitive=True, setup="data")
def nonzero(x: Any) -> Any:
    """The positions of the elements that are not zero: integers (x.ndim, how many)."""
    return op.nonzero(x)


@function("SearchSorted", "sorted_sequence, values", primitive=True)
def searchsorted(sorted_sequence: Any, values: Any, right: bool = False) -> Any:
    """Where to insert each value into a sorted sequence so that it stays sorted.

    sorted_sequence: (..., M), ascending along the last axis; values: (..., N), with the same other lengths
    (RuntimeError otherwise). right: after equal elements, not before. Gives positions (..., N) as float32.
    """
    a, b = tuple(sorted_sequence.shape), tuple(values.shape)
    if len(a) != len(b) or a[:-1] != b[:-1]:
        raise RuntimeError(
            "searchsorted: sorted_sequence and values must have the same shape except at the innermost "
            f"dimension, not {a} and {b}."
        )
    return op.searchsorted(sorted_sequence, values, right=bool(right))


@function("Sort", "x", primitive=True)
def _sort(x: Any, axis: int = -1, reverse: bool = False, with_index: bool = False, only_index: bool = False) -> Any:
    return op.sort(
        x, axis=check_axis("sort", axis, x.ndim), reverse=reverse, with_index=with_index, only_index=only_index
    )


def sort(x: Any, axis: int = -1, reverse: bool = False, with_index: bool = False, only_index: bool = False) -> Any:
    """x sorted along an axis, ascending or (`reverse`) descending; equal elements keep their order.

    with_index: gives (sorted, where each element was); only_index: gives the positions alone, as integers.
    """
    return _sort(x, axis, reverse, with_index, only_index, n_outputs=2 if with_index and not only_index else 1)


def _check_k(name: str, x: Any, k: int, base_axis: int) -> int:
    base_axis = check_axis(name, base_axis, x.ndim, "base_axis")
    size = 1
    for n in x.shape[base_axis:]:
        size *= n
    if not 0 < k <= size:
        raise RuntimeError(f"{name}: k must be in 1 ... sample size, but k is {k}, sample size {size}.")
    return base_axis


@function("TopKData", "x", primitive=True)
def top_k_data(
    x: Any,
    k: int,
    abs: bool = False,
    reduce: bool = True,
    base_axis: int = 1,
    largest: bool = True,
    with_index: bool = False,
) -> Any:
    """The k largest elements of each sample (the axes from `base_axis` on), the largest first.

    abs: by magnitude; largest=False: the smallest; reduce: gives x.shape[:base_axis] + (k,), else x with all other
    elements 0; with_index (needs n_outputs=2 and reduce): also their positions in the sample, as integers.
    """
    base_axis = _check_k("top_k_data", x, k, 1 if base_axis is None else base_axis)
    reduce = reduce is None or bool(reduce)
    if with_index and not reduce:
        raise RuntimeError("top_k_data: with_index needs reduce=True, which is False.")
    return op.top_k(
        x,
        k=k,
        abs=bool(abs),
        reduce=reduce,
        base_axis=base_axis,
        largest=largest is None or bool(largest),
        with_index=bool(with_index),
    )


@function("TopKGrad", "x", primitive=True)
def top_k_grad(x: Any, k: int, abs: bool = False, base_axis: int = 1) -> Any:
    """x; of its gradient only the k largest elements of each sample (by magnitude if `abs`) pass."""
    base_axis = _check_k("top_k_grad", x, k, 1 if base_axis is None else base_axis)
    return op.top_k_grad(x, k=k, abs=bool(abs), base_axis=base_axis)


@function("Unique", "x", primitive=True, setup="data")
def _unique(
    x: Any,
    flatten: bool = True,
    axis: int | None = None,
    sorted: bool = True,
    with_index: bool = False,
    with_inverse: bool = False,
    with_counts: bool = False,
) -> Any:
    from compatgrad.nnabla.auto_forward import get_auto_forward

    if not get_auto_forward():
        raise RuntimeError("unique: it can be used only if auto_forward is true: its shape depends on x's data.")
    axis = None if flatten or axis is None else check_axis("unique", axis, x.ndim)
    return op.unique(
        x, axis=axis, sorted=sorted, with_index=with_index, with_inverse=with_inverse, with_counts=with_counts
    )


def unique(
    x: Any,
    flatten: bool = True,
    axis: int | None = None,
    sorted: bool = True,
    with_index: bool = False,
    with_inverse: bool = False,
    with_counts: bool = False,
    n_outputs: int = -1,
    outputs: Any = None,
) -> Any:
    """The distinct elements of x, or (`flatten=False`) its distinct slices along `axis`.

    sorted: else in the order in which they appear first. Also gives, as integers, where each appears first
    (`with_index`), which of them each element is (`with_inverse`) and how often each appears (`with_counts`).
    RuntimeError unless auto-forward is on.
    """
    if n_outputs < 0 and outputs is None:
        n_outputs = 1 + bool(with_index) + bool(with_inverse) + bool(with_counts)
    return _unique(
        x, flatten, axis, sorted, with_index, with_inverse, with_counts, n_outputs=n_outputs, outputs=outputs
    )
