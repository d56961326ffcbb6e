"""Operators that reduce axes: sums, products, extremes, norms, and positions of extremes."""

from __future__ import annotations

from typing import Any

import torch

from .._docs import sharing
from ..base import MXNetError
from . import _stored
from ._arguments import as_ints, axes_in, axis_in, constant, public_names, vector
from ._operator import op, operator
from .ndarray import NDArray, torch_dtype


def _axes(name: str, data: NDArray, axis: Any, exclude: bool = False) -> list[int] | None:
    """The axes to reduce, None for all. `exclude`: all axes that are not in `axis`."""
    if axis is None or (isinstance(axis, (tuple, list)) and not axis):
        return None
    ndim = data.tensor.dim()
    if type(axis) is int and not exclude and -ndim <= axis < ndim:  # a fast path for most calls
        return [axis]
    axes = axes_in(name, axis, ndim)
    return [i for i in range(ndim) if i not in axes] if exclude else axes


def _reduce(kernel: Any, name: str, data: NDArray, axis: Any, keepdims: bool, exclude: bool) -> NDArray:
    axes = _axes(name, data, axis, exclude)
    if axes is not None and not axes:  # `exclude` leaves no axis to reduce
        return op.identity(data)
    y = vector(kernel(data, axis=axes, keepdims=keepdims))
    dtype = data.tensor.dtype
    return y if y.tensor.dtype == dtype else op.cast(y, dtype)  # sums of integers stay in their dtype


_AXES = """
    Args:
        axis: one axis or several, None or () for all; negative ones count from the end.
    """


@operator("data", aliases=("sum_axis",), method=True)
def sum(data, axis=None, keepdims=False, exclude=False):
    """The sum over `axis` (an int, a tuple, None or () for all), or over all other axes with `exclude`.

    The dtype is the input's. Over all axes the shape is (1,). MXNetError for an axis out of range.

    Args:
        axis: one axis or several, None or () for all; negative ones count from the end.

    Example:
        >>> nd.sum(nd.array([[1.0, 2.0], [3.0, 4.0]]), axis=1).asnumpy()
        array([3., 7.], dtype=float32)
    """
    return _reduce(op.sum, "sum", data, axis, keepdims, exclude)


@operator("data", stored=_stored.summed)
def _square_sum(data, axis=None, keepdims=False, exclude=False):
    """The sum of squares; axes as in `sum`. A row_sparse array is treated as dense."""
    return _reduce(op.sum, "_square_sum", op.square(data), axis, keepdims, exclude)


@operator("data", method=True)
@sharing(_AXES)
def mean(data, axis=None, keepdims=False, exclude=False):
    """The arithmetic mean; axes as in `sum`. The mean of integers is truncated to an integer.

    Example:
        >>> nd.mean(nd.array([[1.0, 2.0], [3.0, 4.0]]), axis=1).asnumpy()
        array([1.5, 3.5], dtype=float32)
    """
    if data.tensor.is_floating_point():
        return _reduce(op.mean, "mean", data, axis, keepdims, exclude)
    y = _reduce(op.mean, "mean", op.cast(data, torch.float64), axis, keepdims, exclude)
    return op.cast(y, data.tensor.dtype)


@operator("data", method=True)
@sharing(_AXES)
def prod(data, axis=None, keepdims=False, exclude=False):
    """The product; axes as in `sum`.

    Example:
        >>> nd.prod(nd.array([[1.0, 2.0], [3.0, 4.0]]), axis=1).asnumpy()
        array([ 2., 12.], dtype=float32)
    """
    return _reduce(op.prod, "prod", data, axis, keepdims, exclude)


@operator("data", method=True)
@sharing(_AXES)
def nansum(data, axis=None, keepdims=False, exclude=False):
    """The sum of elements that are not NaN; axes as in `sum`. NaN gets the gradient 0.

    Example:
        >>> nd.nansum(nd.array([1.0, float("nan"), 3.0])).asnumpy()
        array([4.], dtype=float32)
    """
    return _reduce(op.sum, "nansum", _without_nan(data, 0.0), axis, keepdims, exclude)


@operator("data", method=True)
@sharing(_AXES)
def nanprod(data, axis=None, keepdims=False, exclude=False):
    """The product of elements that are not NaN; axes as in `sum`. NaN gets the gradient 0.

    Example:
        >>> nd.nanprod(nd.array([2.0, float("nan"), 3.0])).asnumpy()
        array([6.], dtype=float32)
    """
    return _reduce(op.prod, "nanprod", _without_nan(data, 1.0), axis, keepdims, exclude)


def _without_nan(data: NDArray, value: float) -> NDArray:
    return op.reset_nan(data, value=value) if data.tensor.is_floating_point() else data


@operator("data", aliases=("max_axis",), method=True)
@sharing(_AXES)
def max(data, axis=None, keepdims=False, exclude=False):
    """The largest element; axes as in `sum`. All elements that are equal to it get the gradient.

    Example:
        >>> nd.max(nd.array([[1.0, 2.0], [3.0, 4.0]]), axis=0).asnumpy()
        array([3., 4.], dtype=float32)
    """
    return _reduce(op.max, "max", data, axis, keepdims, exclude)


@operator("data", aliases=("min_axis",), method=True)
@sharing(_AXES)
def min(data, axis=None, keepdims=False, exclude=False):
    """The smallest element; axes as in `sum`. All elements that are equal to it get the gradient.

    Example:
        >>> nd.min(nd.array([[1.0, 2.0], [3.0, 4.0]]), axis=0).asnumpy()
        array([1., 2.], dtype=float32)
    """
    return _reduce(op.min, "min", data, axis, keepdims, exclude)


@operator("data", method=True)
def norm(data, ord=2, axis=None, out_dtype=None, keepdims=False):
    """The L1 or L2 norm (`ord` 1 or 2) over `axis`, in `out_dtype` if given. MXNetError for another `ord`.

    Args:
        axis: one axis, two for norms of matrices, or None for all; negative ones count from the end.

    Example:
        >>> nd.norm(nd.array([3.0, 4.0])).asnumpy()
        array([5.], dtype=float32)
    """
    if ord not in (1, 2):
        raise MXNetError(f"norm: ord must be 1 or 2, got {ord!r}")
    x = data if data.tensor.is_floating_point() else op.cast(data, torch.float64)
    total = _reduce(op.sum, "norm", op.abs(x) if ord == 1 else op.square(x), axis, keepdims, False)
    y = total if ord == 1 else op.sqrt(total)
    dtype = data.tensor.dtype if out_dtype is None else torch_dtype(out_dtype, "norm: out_dtype")
    return y if y.tensor.dtype == dtype else op.cast(y, dtype)


@operator("data", outputs=2)
def moments(data, axes=None, keepdims=False):
    """Mean and variance over `axes`, a list of two arrays. MXNetError if `axes` is not given.

    Args:
        axes: one axis or several; None for all.

    Example:
        >>> [v.asnumpy().item() for v in nd.moments(nd.array([1.0, 3.0]), axes=0)]
        [2.0, 1.0]
    """
    if axes is None or not len(as_ints("moments", "axes", axes)):
        raise MXNetError("moments: axes must name at least one axis")
    axes = axes_in("moments", axes, data.tensor.dim(), "axes")
    return [vector(op.mean(data, axis=axes, keepdims=keepdims)), vector(op.var(data, axis=axes, keepdims=keepdims))]


def _position(name: str, kernel: Any, data: NDArray, axis: int | None, keepdims: bool) -> NDArray:
    t = data.tensor
    if axis is None:
        y = kernel(t).reshape((1,) * t.dim() if keepdims else (1,))
    else:
        y = kernel(t, axis_in(name, axis, t.dim()), bool(keepdims))
    return constant((y if y.dim() else y.reshape(1)).to(t.dtype), data)


@operator("data", method=True)
def argmax(data, axis=None, keepdims=False):
    """The position of the largest element along `axis` (None: in the flattened array), the first of equal ones.

    The dtype is that of the input. It has no gradient.

    Args:
        axis: the axis; None for the array as one row.

    Returns:
        Places as numbers of the dtype of `data`, without the axis.

    Example:
        >>> nd.argmax(nd.array([[1.0, 5.0, 2.0]]), axis=1).asnumpy()
        array([1.], dtype=float32)
    """
    return _position("argmax", torch.argmax, data, axis, keepdims)


@operator("data", method=True)
def argmin(data, axis=None, keepdims=False):
    """The position of the smallest element; see `argmax`.

    Args:
        axis: the axis; None for the array as one row.

    Returns:
        Places as numbers of the dtype of `data`, without the axis.

    Example:
        >>> nd.argmin(nd.array([[1.0, 5.0, 2.0]]), axis=1).asnumpy()
        array([0.], dtype=float32)
    """
    return _position("argmin", torch.argmin, data, axis, keepdims)


@operator("data", method=True)
def argmax_channel(data):
    """The position of the largest element along axis 1.

    Args:
        data: at least two axes.

    Returns:
        Places as numbers of the dtype of `data`, without axis 1.

    Example:
        >>> nd.argmax_channel(nd.array([[1.0, 5.0, 2.0]])).asnumpy()
        array([1.], dtype=float32)
    """
    return _position("argmax_channel", torch.argmax, data, 1, False)


__all__ = public_names(globals())
