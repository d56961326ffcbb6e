"""Functions of `mx.np` on lists of numbers: quantiles, polynomials, counts, windows, and where elements come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from ..context import Context, current_context
from ..ndarray._operator import op
from ..ndarray.ndarray import NDArray, _on, torch_dtype
from ._array import NUMBERS, constant, finish, ndarray, pair
from ._functions import _array
from ._joining import concatenate
from ._picking import diag
from ._shapes import reshape, swapaxes

__all__ = [
    "bincount", "blackman", "delete", "diag_indices_from", "diagflat", "ediff1d", "hamming", "hanning", "histogram",
    "insert", "meshgrid", "percentile", "polyval", "quantile", "resize", "unravel_index",
]  # fmt: skip


def _numpy(x: Any) -> Any:
    return x.asnumpy() if isinstance(x, NDArray) else x


def _made(a: Any, like: NDArray) -> ndarray:
    return constant(torch.from_numpy(onp.ascontiguousarray(a)).reshape(onp.shape(a)).to(like.tensor.device))


# ---- numbers of a list
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = None, interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """`numpy.percentile`: values below which `q` percent of the elements lie; no gradient."""
    x = _array("percentile", a).asnumpy()
    wide = x if x.dtype == onp.float64 else x.astype(onp.float32)
    y = onp.percentile(wide, _numpy(q), axis=axis, method=interpolation, keepdims=keepdims)  # type: ignore[call-overload]
    return finish(_made(onp.asarray(y, wide.dtype), a), out)


def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = None, interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """`numpy.quantile`: values below which a share `q` of the elements lies; no gradient."""
    _array("quantile", a)
    return percentile(a, q * 100, axis, out, overwrite_input, interpolation, keepdims)


def polyval(p: Any, x: Any) -> Any:
    """`numpy.polyval`: the polynomial with coefficients `p`, highest power first, at x."""
    p, x = _array("polyval", p, "p"), ndarray._around(_array("polyval", x, "x"))
    y = pair("mul", x, 0)
    for k in range(p.shape[0]):
        y = pair("add", pair("mul", y, x), op.get_item(p, index=k))
    return y


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """`numpy.bincount`: how often, or with which sum of weights, each number of 0, 1, ... occurs."""
    t = _array("bincount", x, "x").tensor
    if weights is None:
        return constant(torch.bincount(t.long(), minlength=int(minlength)))
    n = max(int(t.max()) + 1 if t.numel() else 0, int(minlength))
    zeros = constant(torch.zeros(n, dtype=weights.tensor.dtype, device=t.device))
    return op.scatter_add_along(zeros, constant(t.long()), weights, axis=0)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, normed: Any = None, weights: Any = None, density: Any = None
) -> Any:
    """`numpy.histogram`: how many elements fall into each bin (int64), and the ends of the bins."""
    if normed or weights is not None or density:
        raise NotImplementedError("histogram: normed, weights and density are not supported")
    x = _array("histogram", a).asnumpy()
    if isinstance(bins, int) and range is None:
        raise NotImplementedError("histogram: range must be given with a number of bins")
    counts, ends = onp.histogram(x, bins=_numpy(bins), range=range)
    return _made(counts.astype(onp.int64), a), bins if isinstance(bins, NDArray) else _made(ends.astype(x.dtype), a)


# ---- where elements come and go
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """`numpy.ediff1d`: differences of neighbours in the flat array, with numbers before and after them."""
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


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """`numpy.delete`: the array without some of its parts along an axis, or of the flat array."""
    x, axis = _along("delete", arr, axis)
    n, obj = x.shape[axis], _picked(obj)
    if onp.ndim(obj) and not isinstance(obj, slice):
        obj = onp.asarray(obj)
        obj = obj[(obj >= 0) & (obj < n)]  # others are passed over, those from the end too, as in the original
    kept = onp.delete(onp.arange(n), obj)
    return op.select_along(x, constant(torch.from_numpy(kept).to(x.tensor.device)), axis=axis)


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """`numpy.insert`: the array with values before some places along an axis, or of the flat array."""
    x, axis = _along("insert", arr, axis)
    n = x.shape[axis]
    v = values if isinstance(values, NDArray) else _line(values, x)
    v = ndarray._around(v if v.tensor.dtype == x.tensor.dtype else op.cast(v, dtype=x.tensor.dtype))
    obj = _picked(obj)
    places = len(onp.arange(n)[obj]) if isinstance(obj, slice) else onp.size(obj)
    one = places == 1  # where all values go
    v = reshape(v, (1,) * (x.ndim - v.ndim) + v.shape) if v.ndim < x.ndim else v
    if one and axis and not isinstance(obj, slice) and not onp.ndim(obj):
        v = op.transpose(v, axes=(*range(1, axis + 1), 0, *range(axis + 1, v.ndim)))
    # the places of the old and of the new elements, by NumPy's own rules
    count = v.shape[axis] if one else places
    order = onp.insert(onp.arange(n), obj, n + onp.arange(count))
    shape = tuple(count if i == axis else m for i, m in enumerate(x.shape))
    both = concatenate([x, op.broadcast_to(v, shape=shape)], axis=axis)
    return op.select_along(both, constant(torch.from_numpy(order).to(x.tensor.device)), axis=axis)


def resize(a: Any, new_shape: Any) -> Any:
    """`numpy.resize`: the flat array, repeated as often as it takes, in another shape; no gradient."""
    return _made(onp.resize(_array("resize", a).asnumpy(), new_shape), a)


def diagflat(array: Any, k: int = 0) -> Any:
    """`numpy.diagflat`: a matrix with the elements of the flat array on its k-th diagonal."""
    return diag(reshape(_array("diagflat", array, "array"), (-1,)), k)


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """`numpy.diag_indices_from`: the positions on the diagonal, one int64 array for each axis."""
    x = _array("diag_indices_from", arr, "arr")
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise ValueError(f"diag_indices_from: arr must have two axes at least, all of one length, not {x.shape}")
    return tuple(constant(torch.arange(x.shape[0], device=x.tensor.device)) for _ in x.shape)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """`numpy.unravel_index`: positions in the flat array as positions along each axis, a tuple of int64 arrays."""
    if order != "C":
        raise NotImplementedError(f"unravel_index: order must be 'C', got {order!r}")
    if isinstance(indices, NUMBERS):
        return onp.unravel_index(indices, shape)
    x = _array("unravel_index", indices, "indices")
    return tuple(_made(at.astype(onp.int64), x) for at in onp.unravel_index(x.asnumpy(), shape))


def meshgrid(*xi: Any, **kwargs: Any) -> list[Any]:
    """Coordinates of a grid from vectors; `indexing` 'xy' or 'ij'."""
    indexing = kwargs.get("indexing", "xy")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    n = len(xi)
    xs = [reshape(x, (1,) * i + (-1,) + (1,) * (n - i - 1)) for i, x in enumerate(xi)]
    whole = tuple(x.shape[i] for i, x in enumerate(xs))
    ys = [op.broadcast_to(x, shape=whole) for x in xs]
    return [swapaxes(y, 0, 1) for y in ys] if indexing == "xy" and n > 1 else ys


# ---- windows
def _window(name: str, body: Callable[[int], Any]) -> Callable[..., Any]:
    def call(M: int, dtype: Any = onp.float32, ctx: Any = None) -> Any:  # noqa: N803
        context = current_context() if ctx is None else Context(ctx)
        t = torch.from_numpy(onp.ascontiguousarray(body(int(M)))).to(context.torch_device, torch_dtype(dtype))
        return _on(ndarray(t), context)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}`: a window of M numbers."
    return call


hanning, hamming, blackman = (_window(n, getattr(onp, n)) for n in ("hanning", "hamming", "blackman"))
