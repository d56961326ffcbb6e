"""Sorting, largest elements, distinct elements, and positions in a sorted sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.functions._checks import check_axis

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["searchsorted", "sort", "top_k_data", "top_k_grad", "unique"]


@function("SearchSorted", "sorted_sequence, values", primitive=True)
def searchsorted(sorted_sequence: Array, values: Array, right: bool = False) -> Array:
    """The positions at which values can be inserted into a sorted sequence so that it stays sorted.

    Args:
        sorted_sequence: (..., m), ascending along the last axis.
        values: (..., n), with the same other lengths.
        right: whether a value is inserted after equal elements instead of before them.

    Returns:
        Array (..., n) of positions, as float32. No gradient passes.

    Raises:
        RuntimeError: the other lengths differ.

    Example:
        >>> a = nn.NdArray.from_numpy_array(np.array([1.0, 3.0, 3.0, 5.0]))
        >>> F.searchsorted(a, nn.NdArray.from_numpy_array(np.array([3.0, 9.0]))).data
        array([1., 4.], dtype=float32)
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


@documented()
def sort(
    x: Array, axis: int = -1, reverse: bool = False, with_index: bool = False, only_index: bool = False
) -> Array | tuple[Array, Array]:
    """Elements sorted along an axis. Equal ones keep their order.

    Args:
        x: any shape.
        axis: the axis, negative ones counted from the last.
        reverse: whether to sort in descending order.
        with_index: whether the original positions are returned, too, as integers.
        only_index: whether only the positions are returned.

    Returns:
        Array of the shape of `x`, or a pair of such arrays: elements and positions.

    Raises:
        RuntimeError: `x` does not have the axis.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([3.0, 1.0, 2.0]))
        >>> F.sort(x).data
        array([1., 2., 3.], dtype=float32)
        >>> F.sort(x, reverse=True, only_index=True).data
        array([0, 2, 1])
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
    x: Array,
    k: int,
    abs: bool = False,
    reduce: bool = True,
    base_axis: int = 1,
    largest: bool = True,
    with_index: bool = False,
) -> Array | tuple[Array, Array]:
    """The k largest elements of each sample, the largest first.

    Args:
        x: at least one axis.
        k: the number of elements to take from each sample.
        abs: whether to compare magnitudes.
        reduce: whether the result contains these elements alone; otherwise it is `x` with all other elements set to 0.
        base_axis: the first axis of a sample, negative ones counted from the last.
        largest: whether to take the largest elements instead of the smallest.
        with_index: whether the positions in the sample are returned, too, as integers.

    Returns:
        Array of shape x.shape[:base_axis] + (k,), or of the shape of `x`; or a pair of arrays: elements and positions.

    Raises:
        RuntimeError: `k` is not in 1 ... elements of a sample, `x` does not have the axis, or `with_index` is set
            without `reduce`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, -5.0, 2.0, 4.0]]))
        >>> F.top_k_data(x, 2).data
        array([[4., 2.]], dtype=float32)
        >>> F.top_k_data(x, 2, abs=True, reduce=False).data
        array([[ 0., -5.,  0.,  4.]], dtype=float32)
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
def top_k_grad(x: Array, k: int, abs: bool = False, base_axis: int = 1) -> Array:
    """The array itself; in the gradient, only the k largest elements of each sample pass.

    Args:
        x: at least one axis.
        k: the number of elements to take from each sample.
        abs: whether to compare magnitudes.
        base_axis: the first axis of a sample, negative ones counted from the last.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `k` is not in 1 ... elements of a sample, or `x` does not have the axis.

    Example:
        >>> x = nn.Variable((1, 3), need_grad=True)
        >>> y = F.top_k_grad(x, 1)
        >>> y.forward()
        >>> y.backward(nn.NdArray.from_numpy_array(np.array([[1.0, 3.0, 2.0]])))
        >>> x.g
        array([[0., 3., 0.]], dtype=float32)
    """
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


@documented()
def unique(
    x: Array,
    flatten: bool = True,
    axis: int | None = None,
    sorted: bool = True,
    with_index: bool = False,
    with_inverse: bool = False,
    with_counts: bool = False,
    n_outputs: int = -1,
    outputs: Sequence[NdArray | None] | None = None,
) -> Array | tuple[Array, ...]:
    """The distinct elements of an array, or its distinct slices along an axis.

    Args:
        x: any shape. It must have its values when the function is called, for the shape depends on them.
        flatten: whether to compare elements instead of slices.
        axis: the axis of the slices, negative ones counted from the last; None compares elements.
        sorted: whether the result is in ascending order; otherwise in the order of first occurrence.
        with_index: whether the position of each first occurrence is returned, too.
        with_inverse: whether, for each element, its index in the result is returned, too.
        with_counts: whether the number of occurrences is returned, too.

    Returns:
        Array of the distinct elements or slices, or a tuple of it and arrays of integers, in the order of the
        arguments.

    Raises:
        RuntimeError: auto-forward is off, or `x` does not have the axis.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([3.0, 1.0, 3.0]))
        >>> with nn.auto_forward():
        ...     y, counts = F.unique(x, with_counts=True)
        >>> y.data, counts.data
        (array([1., 3.], dtype=float32), array([1, 2]))
    """
    if n_outputs < 0 and outputs is None:
        n_outputs = 1 + bool(with_index) + bool(with_inverse) + bool(with_counts)
    return _unique(
        x, flatten, axis, sorted, with_index, with_inverse, with_counts, n_outputs=n_outputs, outputs=outputs
    )
