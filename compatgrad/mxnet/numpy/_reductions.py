"""Functions of `mx.np` along axes: sums, extremes, positions, orders, differences."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from compatgrad import _C

from ..base import MXNetError
from ..ndarray._operator import op
from ..ndarray.ndarray import torch_dtype
from ._arguments import _publisher
from ._array import constant, finish, floats, ndarray, pair
from ._functions import _array

__all__: list[str] = []
Axis = Any
_public = _publisher(globals())


def _axes(axis: Axis) -> Any:
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


def _reduction(name: str, body: Callable[..., Any], float_result: bool = False) -> Callable[..., Any]:
    def call(
        a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **kwargs: Any
    ) -> Any:
        x = ndarray._around(_array(name, a))
        wanted = None if dtype is None else torch_dtype(dtype, f"{name}: dtype")
        if float_result and (wanted is None or not wanted.is_floating_point):
            x = floats(x)
        elif wanted is not None:
            x = _in_wider(x, wanted)
        elif x.tensor.dtype == torch.bool:
            x = op.cast(x, dtype=torch.int64)
        wanted = wanted or x.tensor.dtype  # integers keep their type, as in the original
        try:
            y = body(x, axis=_axes(axis), keepdims=bool(keepdims))
            return finish(y if y.tensor.dtype == wanted else op.cast(y, dtype=wanted), out)
        except (IndexError, ValueError, RuntimeError) as e:
            raise MXNetError(f"{name}: {e} (a has shape {x.shape}, axis is {axis})") from None

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}` over one axis, several or all."
    return call


def _in_wider(x: Any, dtype: torch.dtype) -> Any:
    """The array as sums of a dtype are computed: in the wider one of both."""
    wide = torch.promote_types(x.tensor.dtype, dtype)
    return x if x.tensor.dtype == wide else op.cast(x, dtype=wide)


_sum = _reduction("sum", op.sum)


def sum(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: Any = None,
        out: Any = None) -> Any:  # fmt: skip
    """`numpy.sum` over one axis, several or all; `initial` is added to the sums."""
    if initial is None:
        return _sum(a, axis, dtype, out, keepdims)
    return finish(pair("add", _sum(a, axis, dtype, None, keepdims), initial), out)


_public(sum)
_public(_reduction("prod", op.prod), "product")
_mean = _reduction("mean", op.mean, float_result=True)


def mean(a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """`numpy.mean` over one axis, several or all; in an integer type the sum, in that type, divided without a rest."""
    if dtype is None or torch_dtype(dtype, "mean: dtype").is_floating_point:
        return _mean(a, axis, dtype, out, keepdims)
    total = _sum(a, axis, dtype, None, keepdims).tensor
    count = builtins.max(a.size // builtins.max(total.numel(), 1), 1)
    y = op.cast(_mean(a, axis, None, None, keepdims), dtype=total.dtype)  # whose gradient it is
    y.tensor.copy_(total.div(count, rounding_mode="trunc"))
    return finish(y, out)


_public(mean)


def _extreme(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, axis: Axis = None, keepdims: bool = False, out: Any = None) -> Any:
        x = ndarray._around(_array(name, a))
        if not x.size:
            raise MXNetError(f"{name}: a has no elements (shape {x.shape})")
        return finish(body(x, axis=_axes(axis), keepdims=bool(keepdims)), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}` over one axis, several or all."
    return call


_public(_extreme("max", op.max), "amax")
_public(_extreme("min", op.min), "amin")


def var(a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """`numpy.var`: the variance; divides by the number of elements minus `ddof`."""
    x = floats(ndarray._around(_array("var", a)))
    x = x if dtype is None else op.cast(x, dtype=torch_dtype(dtype))
    return finish(op.var(x, axis=_axes(axis), ddof=float(ddof), keepdims=bool(keepdims)), out)


def std(a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """`numpy.std`: the square root of the variance."""
    return finish(op.sqrt(var(a, axis, dtype, None, ddof, keepdims)), out)


def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, out: Any = None) -> Any:
    """`numpy.average`: the mean, weighted if `weights` are given; with their sum if `returned`."""
    if weights is None:
        y = op.mean(floats(_array("average", a)), axis=_axes(axis))
        total = onp.prod(a.shape) / builtins.max(onp.prod(y.shape), 1)
        return (finish(y, out), y * 0 + float(total)) if returned else finish(y, out)
    w = weights
    if w.shape != a.shape:
        w = op.reshape(w, shape=tuple(n if i == axis % a.ndim else 1 for i, n in enumerate(a.shape)))
        w = op.broadcast_to(w, shape=a.shape)
    total = op.sum(w, axis=_axes(axis))
    y = op.sum(pair("mul", a, w), axis=_axes(axis)) / total
    return (finish(y, out), total) if returned else finish(y, out)


for _function in (var, std, average):
    _public(_function)


def _truth(name: str) -> Callable[..., Any]:
    def call(a: Any, axis: Axis = None, keepdims: bool = False, out: Any = None) -> Any:
        t = _array(name, a).tensor != 0
        axes = range(t.dim()) if axis is None else [axis] if isinstance(axis, int) else axis
        for i in sorted((n % builtins.max(t.dim(), 1) for n in axes), reverse=True):
            t = getattr(t, name)(dim=i, keepdim=bool(keepdims))
        return finish(constant(t), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}`: a boolean over one axis, several or all."
    return call


_public(_truth("any"), "sometrue")
_public(_truth("all"), "alltrue")


def _position(name: str) -> Callable[..., Any]:
    def call(a: Any, axis: int | None = None, out: Any = None) -> Any:
        t = _array(name, a).tensor.detach()
        t = t.to(torch.uint8) if t.dtype == torch.bool else t
        if axis is not None and not -builtins.max(t.dim(), 1) <= axis < builtins.max(t.dim(), 1):
            raise MXNetError(f"{name}: axis {axis} is out of bounds for an array of {t.dim()} dimensions")
        if not (t.numel() if axis is None or not t.dim() else t.shape[axis]):
            raise MXNetError(f"{name}: a has no elements (shape {tuple(t.shape)}, axis {axis})")
        return finish(constant(getattr(torch, name)(t, dim=axis)), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`numpy.{name}`: positions, int64, along an axis or in the flat array."
    return call


_public(_position("argmax"))
_public(_position("argmin"))


def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """`numpy.argsort`: positions in rising order, int64; equal elements in their order."""
    t = _array("argsort", a).tensor.detach()
    return constant(
        torch.argsort(t.flatten(), stable=True) if axis is None else torch.argsort(t, dim=axis, stable=True)
    )


def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """`numpy.sort`: a sorted copy along an axis, or of the flat array."""
    x = ndarray._around(_array("sort", a))
    return op.sort(op.reshape(x, shape=(-1,)), axis=0) if axis is None else op.sort(x, axis=axis)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """`numpy.cumsum` along an axis, or of the flat array; of booleans in int64, of integers in their own type."""
    x = ndarray._around(_array("cumsum", a))
    own = torch.int64 if x.tensor.dtype == torch.bool else x.tensor.dtype
    wanted = own if dtype is None else torch_dtype(dtype, "cumsum: dtype")
    if not wanted.is_floating_point and x.tensor.is_floating_point():
        x = op.cast(x, dtype=wanted)  # each element is cut, and not each sum
    y = op.cumsum(_in_wider(x, wanted), axis=axis)
    return finish(y if y.tensor.dtype == wanted else op.cast(y, dtype=wanted), out)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """`numpy.unique`: the different elements in rising order; no gradient."""
    result = onp.unique(_array("unique", ar, "ar").asnumpy(), return_index, return_inverse, return_counts, axis)
    several = isinstance(result, tuple)
    device = ar.tensor.device
    parts = [
        constant(torch.from_numpy(onp.ascontiguousarray(r)).to(device)) for r in (result if several else (result,))
    ]
    return tuple(parts) if several else parts[0]


def nonzero(a: Any) -> tuple[Any, ...]:
    """`numpy.nonzero`: positions of what is not zero, one int64 array per axis."""
    return tuple(constant(p) for p in _array("nonzero", a).tensor.nonzero(as_tuple=True))


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """`numpy.diff`: the differences of neighbours along an axis, `n` times."""
    if prepend is not None or append is not None:
        raise NotImplementedError("diff: prepend and append are not supported")
    x = ndarray._around(_array("diff", a))
    axis %= x.ndim
    for _ in range(n):
        lead = (slice(None),) * axis
        x = pair("sub", op.get_item(x, index=(*lead, slice(1, None))), op.get_item(x, index=(*lead, slice(None, -1))))
    return _C.own(x, a)


for _function in (argsort, sort, cumsum, unique, nonzero, diff):
    _public(_function)


__all__ = sorted(set(__all__))
