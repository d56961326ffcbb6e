"""Functions of `mx.np`: quantiles, polynomials, histograms, insertion and deletion, window functions and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp
import torch

from compatgrad.core import notes

from .._docs import sharing
from ..base import MXNetError
from ..context import Context, current_context
from ..ndarray._operator import op
from ..ndarray.ndarray import NDArray, _on, torch_dtype
from ._array import NUMBERS, constant, finish, ndarray, pair
from ._docs import documented
from ._functions import _array
from ._joining import concatenate
from ._picking import diag
from ._shapes import reshape, swapaxes

if TYPE_CHECKING:
    from .._typing import Dtype, Shape

__all__ = [
    "bincount", "blackman", "delete", "diag_indices_from", "diagflat", "ediff1d", "hamming", "hanning", "histogram",
    "insert", "meshgrid", "percentile", "polyval", "quantile", "resize", "unravel_index",
]  # fmt: skip


def _numpy(x: Any) -> Any:
    return x.asnumpy() if isinstance(x, NDArray) else x


def _made(a: Any, like: NDArray) -> ndarray:
    return constant(torch.from_numpy(onp.ascontiguousarray(a)).reshape(onp.shape(a)).to(like.tensor.device))


_QUANTILES = """
    Args:
        axis: the axis, or a sequence of axes; None is all of them.
        overwrite_input: without effect.
        interpolation: between the two nearest elements: "linear", "lower", "higher", "midpoint" or "nearest".

    Returns:
        ndarray, float64 if `a` is, else float32; the axis of `q` comes first. There is no gradient.

    Raises:
        AssertionError: `a` is no array.
        ValueError: a {unit} or `interpolation` has another value.
        numpy.exceptions.AxisError: an axis is out of bounds.
    """


# ---- statistics, polynomials and counts
@documented
@sharing(_QUANTILES, unit="percentage")
def percentile(
    a: ndarray, q: float | Sequence[float] | ndarray, axis: int | Sequence[int] | None = None,
    out: ndarray | None = None, overwrite_input: bool | None = None, interpolation: str = "linear",
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """The values below which given percentages of the elements lie.

    Args:
        q: the percentages, from 0 to 100: a number, a sequence or an ndarray.

    Example:
        >>> mx.np.percentile(mx.np.array([1, 2, 3, 4, 5]), 50)
        array(3.)
    """
    if notes.listener is not None:
        notes.listener("numpy", "np.percentile")
    x = _array("percentile", a).asnumpy()
    wide = x if x.dtype == onp.float64 else x.astype(onp.float32)
    y = onp.percentile(wide, _numpy(q), axis=axis, method=interpolation, keepdims=keepdims)  # type: ignore[call-overload]
    return finish(_made(onp.asarray(y, wide.dtype), a), out)


@documented
@sharing(_QUANTILES, unit="share")
def quantile(
    a: ndarray, q: float | Sequence[float] | ndarray, axis: int | Sequence[int] | None = None,
    out: ndarray | None = None, overwrite_input: bool | None = None, interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The values below which given shares of the elements lie.

    Args:
        q: the shares, from 0 to 1: a number, a sequence or an ndarray.

    Example:
        >>> mx.np.quantile(mx.np.array([1, 2, 3, 4, 5]), [0.25, 0.5])
        array([2., 3.])
    """
    _array("quantile", a)
    return percentile(a, onp.multiply(_numpy(q), 100), axis, out, overwrite_input, interpolation, keepdims)


@documented
def polyval(p: ndarray, x: ndarray) -> ndarray:
    """The values of a polynomial.

    Args:
        p: a vector, ndarray: the coefficients, that of the highest power first.
        x: ndarray: where it is computed.

    Returns:
        ndarray of the shape of `x`.

    Raises:
        AssertionError: an argument is no array.

    Example:
        >>> mx.np.polyval(mx.np.array([3, 2, 1]), mx.np.array([0, 1, 2]))
        array([ 1.,  6., 17.])
    """
    p, x = _array("polyval", p, "p"), ndarray._around(_array("polyval", x, "x"))
    y = pair("mul", x, 0)
    for k in range(p.shape[0]):
        y = pair("add", pair("mul", y, x), op.get_item(p, index=k))
    return y


@documented
def bincount(x: ndarray, weights: ndarray | None = None, minlength: int = 0) -> ndarray:
    """Counts the occurrences of each of the numbers 0, 1, 2, ….

    Args:
        x: a vector of integers, ndarray.
        weights: ndarray: how much each element counts; None is 1.
        minlength: the least length of the result.

    Returns:
        ndarray, int64, or of the dtype of `weights`.

    Raises:
        AssertionError: `x` or `weights` is no array.
        mxnet.base.MXNetError: `x` is no vector, or has negative elements.

    Example:
        >>> mx.np.bincount(mx.np.array([0, 2, 2], dtype="int32"))
        array([1, 0, 2], dtype=int64)
    """
    t = _array("bincount", x, "x").tensor
    if t.dim() != 1 or (t.numel() and int(t.min()) < 0):
        raise MXNetError(f"bincount: x must be a vector of integers that are not negative, got shape {x.shape}")
    if weights is None:
        return constant(torch.bincount(t.long(), minlength=int(minlength)))
    _array("bincount", weights, "weights")
    n = max(int(t.max()) + 1 if t.numel() else 0, int(minlength))
    zeros = constant(torch.zeros(n, dtype=weights.tensor.dtype, device=t.device))
    return op.scatter_add_along(zeros, constant(t.long()), weights, axis=0)


@documented
def histogram(
    a: ndarray, bins: int | Sequence[float] | ndarray = 10, range: Sequence[float] | None = None, normed: Any = None,
    weights: Any = None, density: Any = None,
) -> tuple[ndarray, ndarray]:  # fmt: skip
    """Counts the elements in each bin.

    Args:
        bins: the number of bins of equal width, or the ends of all of them, rising.
        range: the ends of all bins together, which a number of bins needs.
        normed: None; others are not supported.
        weights: None; others are not supported.
        density: None; others are not supported.

    Returns:
        A tuple: the numbers of elements, int64, and the ends of the bins.

    Raises:
        AssertionError: `a` is no array.
        ValueError: ends do not rise.
        NotImplementedError: `range` is missing, or `normed`, `weights` or `density` is given.

    Example:
        >>> mx.np.histogram(mx.np.array([1, 2, 3, 4]), bins=2, range=(0, 4))
        (array([1, 3], dtype=int64), array([0., 2., 4.]))
    """
    if normed or weights is not None or density:
        raise NotImplementedError("histogram: normed, weights and density are not supported")
    if notes.listener is not None:
        notes.listener("numpy", "np.histogram")
    x = _array("histogram", a).asnumpy()
    if isinstance(bins, int) and range is None:
        raise NotImplementedError("histogram: range must be given with a number of bins")
    counts, ends = onp.histogram(x, bins=_numpy(bins), range=range)
    return _made(counts.astype(onp.int64), a), bins if isinstance(bins, NDArray) else _made(ends.astype(x.dtype), a)


# ---- insertion, deletion and shapes
@documented
def ediff1d(ary: ndarray, to_end: float | ndarray | None = None, to_begin: float | ndarray | None = None) -> ndarray:
    """The differences of neighbours in the flat array.

    Args:
        to_end: numbers that come after them: one, or an ndarray.
        to_begin: numbers that come before them: one, or an ndarray.

    Raises:
        AssertionError: `ary` is no array.

    Example:
        >>> mx.np.ediff1d(mx.np.array([1, 4, 9]), to_end=0)
        array([3., 5., 0.])
    """
    x = reshape(_array("ediff1d", ary, "ary"), (-1,))
    n = x.shape[0]
    parts = [x] if n < 1 else [op.get_item(x, index=slice(1, None)) - op.get_item(x, index=slice(None, n - 1))]
    for ends, at in ((to_begin, 0), (to_end, len(parts) + 1)):
        if ends is not None:
            parts.insert(at, reshape(ends, (-1,)) if isinstance(ends, NDArray) else _line([ends], x))
    return concatenate(parts) if len(parts) > 1 else parts[0]


def _line(values: Any, like: NDArray) -> ndarray:
    return constant(torch.tensor(onp.ravel(values), dtype=like.tensor.dtype, device=like.tensor.device))


def _along(who: str, arr: Any, axis: Any) -> tuple[Any, int]:
    x = ndarray._around(_array(who, arr, "arr"))
    if axis is None:
        return reshape(x, (-1,)), 0
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"{who}: axis {axis} is out of bounds for an array of {x.ndim} dimensions")
    return x, axis % x.ndim


def _picked(obj: Any) -> Any:
    return obj.asnumpy().astype(onp.int64) if isinstance(obj, NDArray) else obj


@documented
def delete(arr: ndarray, obj: int | slice | Sequence[int] | ndarray, axis: int | None = None) -> ndarray:
    """The array without some of its parts along an axis.

    Args:
        obj: the positions: an integer, a slice, a sequence or an ndarray. In a sequence, negative ones and
            those out of bounds are passed over.
        axis: the axis; None is the flat array.

    Raises:
        AssertionError: `arr` is no array.
        IndexError: the axis, or one position, is out of bounds.

    Example:
        >>> mx.np.delete(mx.np.array([1, 2, 3]), 1)
        array([1., 3.])
    """
    x, axis = _along("delete", arr, axis)
    n, obj = x.shape[axis], _picked(obj)
    if onp.ndim(obj) and not isinstance(obj, slice):
        obj = onp.asarray(obj)
        obj = obj[(obj >= 0) & (obj < n)]  # as in the original, others have no effect, negative ones either
    kept = onp.delete(onp.arange(n), obj)
    return op.select_along(x, constant(torch.from_numpy(kept).to(x.tensor.device)), axis=axis)


@documented
def insert(
    arr: ndarray, obj: int | slice | Sequence[int] | ndarray, values: float | ndarray, axis: int | None = None
) -> ndarray:
    """The array with values before some positions along an axis.

    Args:
        obj: the positions: an integer, a slice, a sequence or an ndarray.
        values: a number, or an ndarray that broadcasts to what is inserted; it gets the dtype of `arr`.
        axis: the axis; None is the flat array.

    Raises:
        AssertionError: `arr` is no array.
        IndexError: the axis, or a position, is out of bounds.
        ValueError: `values` does not broadcast.

    Example:
        >>> mx.np.insert(mx.np.array([1, 2, 3]), 1, 9)
        array([1., 9., 2., 3.])
    """
    x, axis = _along("insert", arr, axis)
    n = x.shape[axis]
    v = values if isinstance(values, NDArray) else _line(values, x)
    v = ndarray._around(v if v.tensor.dtype == x.tensor.dtype else op.cast(v, dtype=x.tensor.dtype))
    obj = _picked(obj)
    places = len(onp.arange(n)[obj]) if isinstance(obj, slice) else onp.size(obj)
    one = places == 1  # whether all values go to one position
    v = reshape(v, (1,) * (x.ndim - v.ndim) + v.shape) if v.ndim < x.ndim else v
    if one and axis and not isinstance(obj, slice) and not onp.ndim(obj):
        v = op.transpose(v, axes=(*range(1, axis + 1), 0, *range(axis + 1, v.ndim)))
    # the positions of old and new elements in the result, computed by NumPy
    count = v.shape[axis] if one else places
    order = onp.insert(onp.arange(n), obj, n + onp.arange(count))
    shape = tuple(count if i == axis else m for i, m in enumerate(x.shape))
    both = concatenate([x, op.broadcast_to(v, shape=shape)], axis=axis)
    return op.select_along(both, constant(torch.from_numpy(order).to(x.tensor.device)), axis=axis)


@documented
def resize(a: ndarray, new_shape: Shape) -> ndarray:
    """The flat array, repeated or cut, in another shape. There is no gradient.

    Args:
        new_shape: an integer, or a sequence of them.

    Raises:
        AssertionError: `a` is no array.
        ValueError: a length is negative.

    Example:
        >>> mx.np.resize(mx.np.array([1, 2]), (2, 3))
        array([[1., 2., 1.],
               [2., 1., 2.]])
    """
    return _made(onp.resize(_array("resize", a).asnumpy(), new_shape), a)


@documented
def diagflat(array: ndarray, k: int = 0) -> ndarray:
    """The matrix that has the elements of the flat array on a diagonal.

    Example:
        >>> mx.np.diagflat(mx.np.array([[1, 2]]))
        array([[1., 0.],
               [0., 2.]])
    """
    return diag(reshape(_array("diagflat", array, "array"), (-1,)), k)


@documented
def diag_indices_from(arr: ndarray) -> tuple[ndarray, ...]:
    """The positions on the diagonal of an array.

    Args:
        arr: ndarray with at least two axes, all of one length.

    Returns:
        A tuple of int64 ndarrays, one for each axis.

    Raises:
        AssertionError: `arr` is no array.
        ValueError: it has less than two axes, or their lengths differ.

    Example:
        >>> mx.np.diag_indices_from(mx.np.ones((2, 2)))
        (array([0, 1], dtype=int64), array([0, 1], dtype=int64))
    """
    x = _array("diag_indices_from", arr, "arr")
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise ValueError(f"diag_indices_from: arr must have two axes at least, all of one length, not {x.shape}")
    return tuple(constant(torch.arange(x.shape[0], device=x.tensor.device)) for _ in x.shape)


@documented
def unravel_index(indices: ndarray | int, shape: Shape, order: str = "C") -> Any:
    """Positions in the flat array as positions along each axis.

    Args:
        indices: ndarray of integers, or one.
        shape: the shape of the array.

    Returns:
        A tuple of int64 ndarrays, one for each axis; of one integer a tuple of NumPy's integers.

    Raises:
        AssertionError: `indices` is neither an array nor a number.
        TypeError: `indices` are no integers.
        ValueError: a position is out of bounds.
        NotImplementedError: `order` is not "C".

    Example:
        >>> mx.np.unravel_index(mx.np.array([1, 5], dtype="int64"), (2, 3))
        (array([0, 1], dtype=int64), array([1, 2], dtype=int64))
    """
    if order != "C":
        raise NotImplementedError(f"unravel_index: order must be 'C', got {order!r}")
    if isinstance(indices, NUMBERS):
        return onp.unravel_index(indices, shape)
    x = _array("unravel_index", indices, "indices")
    return tuple(_made(at.astype(onp.int64), x) for at in onp.unravel_index(x.asnumpy(), shape))


@documented
def meshgrid(*xi: ndarray, **kwargs: Any) -> list[ndarray]:
    """The coordinates of all points of a grid.

    Args:
        *xi: vectors, ndarrays: the coordinates along each axis.
        **kwargs: `indexing`: "xy", the first vector runs along the second axis, or "ij", along the first one. `sparse`:
            False. `copy` is without effect.

    Returns:
        A list of ndarrays, one for each vector.

    Raises:
        AssertionError: a vector is no array.
        ValueError: `indexing` has another value.
        TypeError: a keyword is unknown.
        NotImplementedError: `sparse` is true.

    Example:
        >>> x, y = mx.np.meshgrid(mx.np.array([1, 2]), mx.np.array([3, 4]))
        >>> x
        array([[1., 2.],
               [1., 2.]])
        >>> y
        array([[3., 3.],
               [4., 4.]])
    """
    indexing = kwargs.get("indexing", "xy")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    unknown = set(kwargs) - {"indexing", "sparse", "copy"}
    if unknown:
        raise TypeError(f"meshgrid: unexpected arguments {sorted(unknown)}")
    if kwargs.get("sparse"):
        raise NotImplementedError("meshgrid: sparse=True is not supported, only sparse=False")
    n = len(xi)
    xs = [reshape(x, (1,) * i + (-1,) + (1,) * (n - i - 1)) for i, x in enumerate(xi)]
    whole = tuple(x.shape[i] for i, x in enumerate(xs))
    ys = [op.broadcast_to(x, shape=whole) for x in xs]
    return [swapaxes(y, 0, 1) for y in ys] if indexing == "xy" and n > 1 else ys


# ---- windows
_WINDOW = """{title}'s window: factors that fade a signal out at both ends.

    Args:
        M: the number of factors; 0 or less gives none.

    Returns:
        ndarray of shape (M,).

    Raises:
        ValueError: `M` is no number.

    Example:
        >>> mx.np.{name}(5).round(2)
        array({result})
    """


def _window(name: str, result: str) -> Callable[..., Any]:
    body = getattr(onp, name)

    def call(M: int, dtype: Dtype | None = onp.float32, ctx: Context | None = None) -> ndarray:
        context = current_context() if ctx is None else Context(ctx)
        t = torch.from_numpy(onp.ascontiguousarray(body(int(M)))).to(context.torch_device, torch_dtype(dtype))
        return _on(ndarray(t), context)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _WINDOW.format(title=name.title(), name=name, result=result)
    return documented(call)


hanning = _window("hanning", "[0. , 0.5, 1. , 0.5, 0. ]")
hamming = _window("hamming", "[0.08, 0.54, 1.  , 0.54, 0.08]")
blackman = _window("blackman", "[-0.  ,  0.34,  1.  ,  0.34, -0.  ]")
