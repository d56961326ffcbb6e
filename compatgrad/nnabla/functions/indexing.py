"""Functions that select and write elements by slices, indices and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.functions._checks import check_axis
from compatgrad.nnabla.variable import Variable

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

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
    "slice",
]

_part = slice  # the builtin, whose name a function below has


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


@documented()
def slice(
    x: Array,
    start: Sequence[int | None] | None = None,
    stop: Sequence[int | None] | None = None,
    step: Sequence[int | None] | None = None,
    n_outputs: int = -1,
    outputs: Sequence[NdArray | None] | None = None,
) -> Array:
    """The elements start, start + step, ... before stop along each axis, like Python's slices.

    Args:
        x: any shape.
        start: the first position along each axis; where all three arguments have fewer numbers than `x` has axes, they
            apply to the last axes. Negative numbers count from the end; None is the first element, or the last one
            where the step is negative.
        stop: for each axis the first position that is not taken; None takes all elements up to the end, or to the start
            where the step is negative.
        step: for each axis the step, which may be negative; None is 1. None instead of a whole argument stands for
            zeros (start), the lengths of `x` (stop) or ones (step).

    Returns:
        Array of as many axes as `x`.

    Raises:
        RuntimeError: a step is 0, the sizes differ, or there are more numbers than axes.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(2, 3))
        >>> F.slice(x, start=(0, 1), stop=(2, 3)).data
        array([[1., 2.],
               [4., 5.]], dtype=float32)
        >>> F.slice(x, (None, None), (None, None), (1, -1)).data
        array([[2., 1., 0.],
               [5., 4., 3.]], dtype=float32)
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
def gather(x: Array, Indices: Array, axis: int = 0, batch_dims: int = 0) -> Array:
    """Slices of an array along an axis, at integer indices.

    Args:
        x: any shape.
        Indices: integers, not negative; they get no gradient.
        axis: the axis, negative ones counted from the last.
        batch_dims: the number of first axes that `x` and `Indices` have in common.

    Returns:
        Array of shape x.shape[:axis] + Indices.shape[batch_dims:] + x.shape[axis + 1:].

    Raises:
        RuntimeError: the shapes do not fit, or an index is out of range.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(2, 3))
        >>> F.gather(x, nn.NdArray.from_numpy_array(np.array([2, 0])), axis=1).data
        array([[2., 0.],
               [5., 3.]], dtype=float32)
    """
    axis, batch_dims = check_axis("gather", axis or 0, x.ndim), batch_dims or 0
    if batch_dims > min(axis, Indices.ndim) or tuple(x.shape[:batch_dims]) != tuple(Indices.shape[:batch_dims]):
        raise RuntimeError(
            f"gather: the first batch_dims={batch_dims} axes of x {tuple(x.shape)} and indices "
            f"{tuple(Indices.shape)} must be equal, and axis ({axis}) not be among them."
        )
    return op.gather(x, Indices, axis=axis, batch_dims=batch_dims)


def _as_indices(indices: Any) -> Any:
    """Turns lists and arrays of indices into a Variable."""
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


@documented()
def gather_nd(data: Array, indices: Array | Sequence[Any] | np.ndarray) -> Array:
    """The elements or slices data[indices[0], indices[1], ...].

    Args:
        data: any shape.
        indices: integers (M, ...) for the first M axes of `data`, negative ones counted from the end; also as a list or
            a NumPy array. They get no gradient.

    Returns:
        Array of shape indices.shape[1:] + data.shape[M:].

    Raises:
        RuntimeError: `indices` has fewer than two axes or more rows than `data` has axes, or an index is out of range.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(2, 3))
        >>> F.gather_nd(x, [[0, 1], [2, 0]]).data
        array([2., 3.], dtype=float32)
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


@documented()
def scatter_nd(
    data: Array,
    indices: Array | Sequence[Any] | np.ndarray,
    shape: Sequence[int] | np.ndarray | None = None,
    out: Array | None = None,
    add: bool = False,
) -> Array:
    """Writes data at indices into zeros or into another array: y[indices[0], indices[1], ...] = data.

    Args:
        data: the values, of shape indices.shape[1:] + shape[M:].
        indices: integers (M, ...) for the first M axes of the result; also as a list or a NumPy array.
        shape: the shape of the result, which starts from zeros.
        out: the array to write into. It is changed in place, and the result shares its memory.
        add: whether values are added to the existing elements; otherwise, where indices repeat, the last value counts.

    Returns:
        Array of `shape`, or of the shape of `out`.

    Raises:
        TypeError: both or neither of `shape` and `out` are given, or `out` or `data` is neither a Variable nor an
            NdArray.
        RuntimeError: the shapes do not fit, or an index is out of range.

    Example:
        >>> data = nn.NdArray.from_numpy_array(np.array([5.0, 7.0]))
        >>> F.scatter_nd(data, [[0, 1], [2, 0]], shape=(2, 3)).data
        array([[0., 0., 5.],
               [7., 0., 0.]], dtype=float32)
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


@documented()
def scatter_add(x0: Array, indices: Array, x1: Array, axis: int | None = None) -> Array:
    """Adds one array to another at indices along an axis: y[indices[i, j], j] += x1[i, j] for axis 0.

    Args:
        x0: the array to add to; it is not changed.
        indices: integers; along no axis longer than `x1`, and along no axis but `axis` longer than `x0`. They get no
            gradient.
        x1: the values to add, with as many axes as `x0`.
        axis: the axis, negative ones counted from the last; None for the first.

    Returns:
        Array of the shape of `x0`.

    Raises:
        RuntimeError: the shapes do not fit, or an index is out of range.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 4.0]))
        >>> at = nn.NdArray.from_numpy_array(np.array([0, 0, 2]))
        >>> F.scatter_add(nn.NdArray.from_numpy_array(np.zeros(3)), at, x).data
        array([3., 0., 4.], dtype=float32)
    """
    return _scatter_add(x0, indices, x1, 0 if axis is None else axis)


@function("OneHot", "x", primitive=True, integers=("x",))
def one_hot(x: Array, shape: Sequence[int]) -> Array:
    """One-hot arrays: zeros with a one at the position that an integer array selects.

    Args:
        x: integers (..., n), each row a position in `shape`, negative ones counted from the end. A row with an index
            out of range gives zeros alone.
        shape: the n lengths.

    Returns:
        Array (..., *shape). No gradient passes.

    Raises:
        RuntimeError: the last axis of `x` is not as long as `shape`.

    Example:
        >>> F.one_hot(nn.NdArray.from_numpy_array(np.array([[0], [2]])), (3,)).data
        array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
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
def bool_gather(input: Array, mask: Array) -> Array:
    """The slices of an array at which a mask is not zero, as rows.

    Args:
        input: any shape.
        mask: an array of the first lengths of `input`. Its values must exist when the function is called, because the
            shape of the result depends on them. It gets no gradient.

    Returns:
        Array (rows, elements of a slice), or (rows,) where the slices are elements.

    Raises:
        RuntimeError: the shape of `mask` is not the start of that of `input`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(3, 2))
        >>> F.bool_gather(x, nn.NdArray.from_numpy_array(np.array([1, 0, 1]))).data
        array([[0., 1.],
               [4., 5.]], dtype=float32)
    """
    _check_mask("bool_gather", input, mask)
    return op.bool_gather(input, mask)


@function("BoolScatter", "input, mask, output?", primitive=True, effects=True)
def bool_scatter(input: Array, mask: Array, output: Array | None = None) -> Array:
    """The reverse of `bool_gather`: rows where a mask is not zero.

    Args:
        input: the rows, (rows, ...).
        mask: any shape, with as many elements that are not zero as there are rows. It gets no gradient.
        output: the array to write the rows into. It is changed in place, and its memory is that of the result.
            By default zeros.

    Returns:
        Array of shape mask.shape + input.shape[1:].

    Raises:
        RuntimeError: `output` has another shape, or the number of marked elements is not the number of rows.

    Example:
        >>> rows = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0]]))
        >>> F.bool_scatter(rows, nn.NdArray.from_numpy_array(np.array([0, 1]))).data
        array([[0., 0.],
               [1., 2.]], dtype=float32)
    """
    shape = (*mask.shape, *input.shape[1:])
    if output is not None and tuple(output.shape) != shape:
        raise RuntimeError(
            "bool_scatter: output must have the shape {shape}, which follows from "
            f"the inputs, not {tuple(output.shape)}."
        )
    return op.bool_scatter(input, mask, output)


@function("BoolFill", "data, mask", primitive=True)
def bool_fill(data: Array, mask: Array, value: float = 0) -> Array:
    """An array with a number where a mask is not zero.

    Args:
        data: any shape.
        mask: a shape that broadcasts to that of `data`. It gets no gradient.
        value: the number.

    Returns:
        Array of the shape of `data`.

    Raises:
        RuntimeError: `mask` does not broadcast.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(4.0).reshape(2, 2))
        >>> F.bool_fill(x, nn.NdArray.from_numpy_array(np.array([0, 1])), value=-1).data
        array([[ 0., -1.],
               [ 2., -1.]], dtype=float32)
    """
    lead = data.ndim - mask.ndim
    if lead < 0 or any(m not in (1, n) for m, n in zip(mask.shape, data.shape[lead:], strict=True)):
        raise RuntimeError(
            f"bool_fill: mask of shape {tuple(mask.shape)} does not broadcast to data's shape {tuple(data.shape)}."
        )
    return op.bool_fill(data, mask, value=value or 0.0)


@function("NonZero", "x", primitive=True, setup="data")
def nonzero(x: Array) -> Array:
    """The positions of the elements that are not zero.

    Args:
        x: at least one axis. It must have its values when the function is called, for the shape depends on them.

    Returns:
        Array of integers (x.ndim, number of positions). No gradient passes.

    Example:
        >>> F.nonzero(nn.NdArray.from_numpy_array(np.array([[0.0, 3.0], [4.0, 5.0]]))).data
        array([[0, 1, 1],
               [1, 0, 1]])
    """
    return op.nonzero(x)
