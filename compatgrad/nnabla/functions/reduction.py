"""Reductions: sums, means, extrema, products and norms; and cumulative sums and products."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compatgrad import _C
from compatgrad.nnabla import context as _context
from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla._frontend import fe
from compatgrad.nnabla.functions._checks import check_axis
from compatgrad.nnabla.variable import Variable

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["cumprod", "cumsum", "max", "mean", "min", "norm", "prod", "reduce", "reduce_mean", "reduce_sum", "sum"]

# The shared sections of docstrings: of functions of all elements, of functions with axes, of extrema, and of cumulative
# functions.
_WHOLE = """
Args:
    x: any shape, computed in float32.

Returns:
    Array of shape ().
"""
_SHARED = """
Args:
    x: any shape, computed in float32.
    axis: the axis or axes to reduce, negative ones counted from the last; None for all.
    keepdims: whether to keep the reduced axes with length 1.

Returns:
    Array of the shape of `x` without the reduced axes.

Raises:
    RuntimeError: `x` does not have an axis.
"""
_EXTREME = """
Args:
    with_index: whether to return positions, too: integers, counted in C order over the reduced axes.
    only_index: whether to return positions alone.

Returns:
    Array of the shape of `x` without the reduced axes, or a pair of such arrays: values and positions.
"""
_RUNNING = """
Args:
    x: any shape, computed in float32.
    axis: the axis, negative ones counted from the last.
    exclusive: whether a result leaves out the element at its own position.
    reverse: whether to accumulate from the end to the start.

Returns:
    Array of the shape of `x`.

Raises:
    RuntimeError: `x` does not have the axis.
"""

_ALL = {"axes": lambda x: list(range(x.ndim))}


def _listed(axis: Any, ndim: int) -> list[int]:
    """The list of axes of an `axis` argument: all axes for None, one for an integer."""
    if axis is None:
        return list(range(ndim))
    return list(axis) if hasattr(axis, "__iter__") else [axis]


def _axes(name: str, axes: Any, x: Any) -> list[int]:
    """The axes counted from the front, each once. Raises RuntimeError for an axis that x does not have."""
    if type(axes) is list and axes == list(range(x.ndim)):
        return axes
    return list(dict.fromkeys(check_axis(name, a, x.ndim) for a in _listed(axes, x.ndim)))


@functools.cache
def _of_all(spec: Any, op: str, ndim: int) -> object:
    """The reduction of all axes as a chain of one op."""
    axes = list(range(ndim))
    return _C.chain(fe, 1, [(op, (0,), {"axis": axes, "keepdims": False}, spec, (axes, False))], (1,))


def _reduced(whole: Any, op: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """`whole`, the function that nnabla's graphs contain, over the axes of an `axis` argument."""
    if axis is None and keepdims is False and type(x) is Variable:
        y = _C.run_chain(_of_all(whole.spec, op, x.ndim), _context.current_ctx, x)
        if y is not None:
            return y
    return whole(x, _listed(axis, x.ndim), keepdims)


@function("Sum", "x", primitive=True, defaults=_ALL)
def _sum(x: Any, axes: Sequence[int] | None = None, keep_dims: bool = False) -> Any:
    return op.sum(x, axis=_axes("sum", axes, x), keepdims=keep_dims)


@documented(_SHARED)
def sum(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """The sum over axes.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(2, 3))
        >>> F.sum(x, axis=1).data
        array([ 3., 12.], dtype=float32)
        >>> F.sum(x, axis=(0, 1), keepdims=True).data
        array([[15.]], dtype=float32)
    """
    return _reduced(_sum, "sum", x, axis, keepdims)


@function("Mean", "x", primitive=True, defaults=_ALL)
def _mean(x: Any, axes: Sequence[int] | None = None, keep_dims: bool = False) -> Any:
    return op.mean(x, axis=_axes("mean", axes, x), keepdims=keep_dims)


@documented(_SHARED)
def mean(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """The arithmetic mean over axes.

    Example:
        >>> F.mean(nn.NdArray.from_numpy_array(np.arange(6.0).reshape(2, 3)), axis=0).data
        array([1.5, 2.5, 3.5], dtype=float32)
    """
    return _reduced(_mean, "mean", x, axis, keepdims)


def _extreme(kind: Any, x: Any, axis: Any, keepdims: bool, with_index: bool, only_index: bool) -> Any:
    count = 2 if with_index and not only_index else 1
    return kind(x, _listed(axis, x.ndim), keepdims, with_index, only_index, n_outputs=count)


@function("Max", "x", primitive=True, defaults=_ALL)
def _max(
    x: Any,
    axes: Sequence[int] | None = None,
    keep_dims: bool = False,
    with_index: bool = False,
    only_index: bool = False,
) -> Any:
    return op.extreme(x, axis=_axes("max", axes, x), keepdims=keep_dims, with_index=with_index, only_index=only_index)


@documented(_EXTREME, _SHARED)
def max(
    x: Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    with_index: bool = False,
    only_index: bool = False,
) -> Array | tuple[Array, Array]:
    """The largest element over axes. Where several are the largest, the first one gets the gradient.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]]))
        >>> F.max(x, axis=1).data
        array([5., 7.], dtype=float32)
        >>> F.max(x, axis=1, only_index=True).data
        array([1, 0])
    """
    return _extreme(_max, x, axis, keepdims, with_index, only_index)


@function("Min", "x", primitive=True, defaults=_ALL)
def _min(
    x: Any,
    axes: Sequence[int] | None = None,
    keep_dims: bool = False,
    with_index: bool = False,
    only_index: bool = False,
) -> Any:
    return op.extreme(
        x, axis=_axes("min", axes, x), keepdims=keep_dims, smallest=True, with_index=with_index, only_index=only_index
    )


@documented(_EXTREME, _SHARED)
def min(
    x: Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    with_index: bool = False,
    only_index: bool = False,
) -> Array | tuple[Array, Array]:
    """The smallest element over axes. Where several are the smallest, the first one gets the gradient.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]]))
        >>> values, positions = F.min(x, axis=1, with_index=True)
        >>> values.data, positions.data
        (array([1., 0.], dtype=float32), array([0, 1]))
    """
    return _extreme(_min, x, axis, keepdims, with_index, only_index)


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


@documented(_SHARED)
def norm(x: Array, p: float | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """The p-norm over axes, (sum |x|^p)^(1/p).

    Args:
        p: at least 1; None for 2.

    Raises:
        RuntimeError: `x` does not have an axis, or `p` is less than 1.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[3.0, -4.0], [1.0, 1.0]]))
        >>> F.norm(x, axis=1).data
        array([5.       , 1.4142135], dtype=float32)
        >>> F.norm(x, p=1).data
        array(9., dtype=float32)
    """
    return _norm(x, 2.0 if p is None else p, _listed(axis, x.ndim), keepdims)


@function("Prod", "x", primitive=True, defaults=_ALL)
def _prod(x: Any, axes: Sequence[int] | None = None, keep_dims: bool = False) -> Any:
    return op.prod(x, axis=_axes("prod", axes, x), keepdims=keep_dims)


@documented(_SHARED)
def prod(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """The product over axes. Its gradient is exact also where elements are 0.

    Example:
        >>> F.prod(nn.NdArray.from_numpy_array(np.array([[1.0, 2.0], [3.0, 4.0]])), axis=0).data
        array([3., 8.], dtype=float32)
    """
    return _prod(x, _listed(axis, x.ndim), keepdims)


@function("ReduceSum", "x", primitive=True, shared=(_WHOLE,))
def reduce_sum(x: Array) -> Array:
    """The sum of all elements.

    Example:
        >>> F.reduce_sum(nn.NdArray.from_numpy_array(np.arange(4.0))).data
        array(6., dtype=float32)
    """
    return op.sum(x)


@function("ReduceMean", "x", primitive=True, shared=(_WHOLE,))
def reduce_mean(x: Array) -> Array:
    """The mean of all elements.

    Example:
        >>> F.reduce_mean(nn.NdArray.from_numpy_array(np.arange(4.0))).data
        array(1.5, dtype=float32)
    """
    return op.mean(x)


@documented(_WHOLE)
def reduce(x: Array, op: str = "sum") -> Array:
    """The sum or the mean of all elements. Deprecated: use `sum` or `mean`.

    Args:
        op: "sum" or "mean".

    Raises:
        ValueError: `op` is something else.

    Example:
        >>> F.reduce(nn.NdArray.from_numpy_array(np.arange(4.0)), op="mean").data
        array(1.5, dtype=float32)
    """
    # stacklevel=1, as in nnabla: by default Python does not show a DeprecationWarning of this module
    warnings.warn("Deprecated API. Use ``sum`` or ``mean`` instead.", DeprecationWarning, stacklevel=1)
    if op not in ("sum", "mean"):
        raise ValueError(f"reduce: op must be 'sum' or 'mean', not {op!r}")
    return (reduce_sum if op == "sum" else reduce_mean)(x)


@function("CumSum", "x", primitive=True, shared=(_RUNNING,))
def cumsum(x: Array, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Array:
    """Sums along an axis up to each element.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 3.0]))
        >>> F.cumsum(x).data
        array([1., 3., 6.], dtype=float32)
        >>> F.cumsum(x, exclusive=True, reverse=True).data
        array([5., 3., 0.], dtype=float32)
    """
    return op.running_sum(x, axis=check_axis("cumsum", axis or 0, x.ndim), exclusive=exclusive, reverse=reverse)


@function("CumProd", "x", shared=(_RUNNING,))
def cumprod(x: Array, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Array:
    """Products along an axis up to each element. The first exclusive one is 1.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([1.0, 2.0, 3.0]))
        >>> F.cumprod(x).data
        array([1., 2., 6.], dtype=float32)
        >>> F.cumprod(x, exclusive=True).data
        array([1., 1., 2.], dtype=float32)
    """
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
