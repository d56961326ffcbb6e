"""Reductions: sums, means, extrema, products, norms, and running ones."""

from __future__ import annotations

import warnings
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_axis

__all__ = ["cumprod", "cumsum", "max", "mean", "min", "norm", "prod", "reduce", "reduce_mean", "reduce_sum", "sum"]

_ALL = {"axes": lambda x: list(range(x.ndim))}


def listed(axis: Any, ndim: int) -> list[int]:
    """An `axis` argument as the list of axes: None means all, an integer one."""
    if axis is None:
        return list(range(ndim))
    return list(axis) if hasattr(axis, "__iter__") else [axis]


def _axes(name: str, axes: Any, x: Any) -> list[int]:
    """The axes counted from the front, each once; RuntimeError for one that x does not have."""
    return list(dict.fromkeys(check_axis(name, a, x.ndim) for a in listed(axes, x.ndim)))


@function("Sum", "x", primitive=True, defaults=_ALL)
def _sum(x: Any, axes: Any = None, keep_dims: bool = False) -> Any:
    return op.sum(x, axis=_axes("sum", axes, x), keepdims=keep_dims)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Sum over axes.

    axis: None (all), an integer or a sequence; keepdims: reduced axes stay with length 1. Gives x.shape without
    the reduced axes. RuntimeError for an axis that x does not have.
    """
    return _sum(x, listed(axis, x.ndim), keepdims)


@function("Mean", "x", primitive=True, defaults=_ALL)
def _mean(x: Any, axes: Any = None, keep_dims: bool = False) -> Any:
    return op.mean(x, axis=_axes("mean", axes, x), keepdims=keep_dims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Arithmetic mean over axes; arguments as of `sum`."""
    return _mean(x, listed(axis, x.ndim), keepdims)


@function("Max", "x", primitive=True, defaults=_ALL)
def _max(x: Any, axes: Any = None, keep_dims: bool = False, with_index: bool = False, only_index: bool = False) -> Any:
    return op.extreme(x, axis=_axes("max", axes, x), keepdims=keep_dims, with_index=with_index, only_index=only_index)


def max(x: Any, axis: Any = None, keepdims: bool = False, with_index: bool = False, only_index: bool = False) -> Any:
    """Largest element over axes; the first one gets the gradient.

    axis, keepdims: as of `sum`. with_index: gives (values, positions), positions counted in C order over the reduced
    axes, as integers; only_index: gives the positions alone.
    """
    return _max(
        x, listed(axis, x.ndim), keepdims, with_index, only_index, n_outputs=2 if with_index and not only_index else 1
    )


@function("Min", "x", primitive=True, defaults=_ALL)
def _min(x: Any, axes: Any = None, keep_dims: bool = False, with_index: bool = False, only_index: bool = False) -> Any:
    return op.extreme(
        x, axis=_axes("min", axes, x), keepdims=keep_dims, smallest=True, with_index=with_index, only_index=only_index
    )


def min(x: Any, axis: Any = None, keepdims: bool = False, with_index: bool = False, only_index: bool = False) -> Any:
    """Smallest element over axes; arguments and results as of `max`."""
    return _min(
        x, listed(axis, x.ndim), keepdims, with_index, only_index, n_outputs=2 if with_index and not only_index else 1
    )


@function("Norm", "x", defaults=_ALL)
def _norm(x: Any, p: float = 2.0, axes: Any = None, keep_dims: bool = False) -> Any:
    p = 2.0 if p is None else p
    if p < 1:
        raise RuntimeError(f"norm: p must be at least 1, not {p}.")
    axes = _axes("norm", axes, x)
    if p == 2:
        return op.sqrt(op.sum(op.square(x), axis=axes, keepdims=keep_dims))
    powers = op.pow_scalar(op.abs(x), exponent=p)
    return op.pow_scalar(op.sum(powers, axis=axes, keepdims=keep_dims), exponent=1.0 / p)


def norm(x: Any, p: float | None = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The p-norm over axes, (sum |x|^p)^(1/p).

    p: at least 1 (RuntimeError), 2 if None; axis, keepdims: as of `sum`.
    """
    return _norm(x, 2.0 if p is None else p, listed(axis, x.ndim), keepdims)


@function("Prod", "x", primitive=True, defaults=_ALL)
def _prod(x: Any, axes: Any = None, keep_dims: bool = False) -> Any:
    return op.prod(x, axis=_axes("prod", axes, x), keepdims=keep_dims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Product over axes; arguments as of `sum`. The gradient is exact where elements are 0."""
    return _prod(x, listed(axis, x.ndim), keepdims)


@function("ReduceSum", "x", primitive=True)
def reduce_sum(x: Any) -> Any:
    """The sum of all elements, of shape ()."""
    return op.sum(x)


@function("ReduceMean", "x", primitive=True)
def reduce_mean(x: Any) -> Any:
    """The mean of all elements, of shape ()."""
    return op.mean(x)


def reduce(x: Any, op: str = "sum") -> Any:
    """Sum or mean of all elements; deprecated in favour of `sum` and `mean`. ValueError for another `op`."""
    # as the original, blamed on this line: unless asked for, Python shows no such warning
    warnings.warn("Deprecated API. Use ``sum`` or ``mean`` instead.", DeprecationWarning, stacklevel=1)
    if op not in ("sum", "mean"):
        raise ValueError(f"reduce: op must be 'sum' or 'mean', not {op!r}")
    return (reduce_sum if op == "sum" else reduce_mean)(x)


@function("CumSum", "x", primitive=True)
def cumsum(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """Sums along an axis up to each element.

    exclusive: without the element itself, so that the first is 0; reverse: from the end. Gives x.shape.
    RuntimeError for an axis that x does not have.
    """
    return op.running_sum(x, axis=check_axis("cumsum", axis or 0, x.ndim), exclusive=exclusive, reverse=reverse)


@function("CumProd", "x")
def cumprod(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """Products along an axis up to each element; arguments as of `cumsum`, the first exclusive one is 1."""
    axis = check_axis("cumprod", axis or 0, x.ndim)
    if reverse:
        x = op.flip(x, axis=[axis])
    y = op.cumprod(x, axis=axis)
    if exclusive and x.shape[axis] > 0:
        widths = [0] * (2 * x.ndim)
        widths[2 * axis] = 1
        before = tuple(slice(0, -1) if i == axis else slice(None) for i in range(x.ndim))
        y = op.pad(op.get_item(y, index=before), pad_width=widths, value=1.0)
    return op.flip(y, axis=[axis]) if reverse else y
