"""Arrays of `mx.np` from nothing, from numbers and from other arrays."""

from __future__ import annotations

from typing import Any

import numpy as onp
import torch

from compatgrad import _C

from ..base import MXNetError
from ..ndarray._operator import op
from ..ndarray.ndarray import NDArray, _on, torch_dtype
from ._arguments import _array, _context, _order, _shape
from ._array import NUMBERS, finish, ndarray

__all__ = [
    "arange", "array", "broadcast_to", "copy", "empty", "empty_like", "eye", "full", "full_like", "identity", "indices",
    "linspace", "logspace", "may_share_memory", "ones", "ones_like", "shares_memory", "zeros", "zeros_like",
]  # fmt: skip


def array(object: Any, dtype: Any = None, ctx: Any = None) -> ndarray:
    """A copy of an array, or of nested lists of numbers. Arrays keep their dtype, lists become float32.

    ValueError for an `mx.nd.NDArray`, which `as_np_ndarray` converts.
    """
    context = _context(ctx)
    if isinstance(object, ndarray):
        t = object.tensor.detach()
    elif isinstance(object, NDArray):
        raise ValueError("array: object is an mx.nd.NDArray; use its method as_np_ndarray")
    else:
        if isinstance(object, torch.Tensor):
            object = object.detach().cpu().numpy()
        if dtype is None and not isinstance(object, (onp.ndarray, onp.generic)):
            dtype = onp.float32
        if isinstance(object, (list, tuple)):
            object = _plain(object)
        try:
            a = onp.asarray(object, dtype=dtype)
        except (TypeError, ValueError) as e:
            raise TypeError(f"array: object: expected an array or nested lists of numbers: {e}") from None
        if a.dtype.kind not in "biuf":
            raise TypeError(f"array: object: expected numbers, got {a.dtype}")
        t = torch.from_numpy(onp.ascontiguousarray(a).reshape(a.shape))
    wanted = t.dtype if dtype is None else torch_dtype(dtype, "array: dtype")
    return _on(ndarray(t.to(device=context.torch_device, dtype=wanted, copy=True)), context)


def _plain(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.asnumpy()
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _made(who: str, fill: Any, shape: Any, dtype: Any, ctx: Any, order: str, out: Any = None) -> ndarray:
    _order(who, order)
    context = _context(ctx)
    t = fill(_shape(who, shape), dtype=torch_dtype(dtype, f"{who}: dtype"), device=context.torch_device)
    return finish(_on(ndarray(t), context), out)


def zeros(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> ndarray:
    """Zeros, float32 unless `dtype` says otherwise."""
    return _made("zeros", torch.zeros, shape, dtype, ctx, order)


def ones(shape: Any, dtype: Any = onp.float32, order: str = "C", ctx: Any = None) -> ndarray:
    """Ones, float32 unless `dtype` says otherwise."""
    return _made("ones", torch.ones, shape, dtype, ctx, order)


def empty(shape: Any, dtype: Any = onp.float32, order: str = "C", ctx: Any = None) -> ndarray:
    """An array whose values are whatever the memory holds."""
    return _made("empty", torch.empty, shape, dtype, ctx, order)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> ndarray:
    """An array filled with a number or with an array that broadcasts; float32, or bool for True and False."""
    if isinstance(fill_value, NDArray):
        y = broadcast_to(fill_value, _shape("full", shape))
        return finish(y.astype(dtype) if dtype is not None else op.copy(y), out)
    dtype = onp.bool_ if dtype is None and isinstance(fill_value, bool) else dtype
    return _made("full", lambda s, **k: torch.full(s, fill_value, **k), shape, dtype, ctx, order, out)


def _like(who: str, a: Any, fill: Any, dtype: Any, ctx: Any, out: Any) -> ndarray:
    x = _array(who, a)
    t = fill(x.tensor.detach(), dtype=None if dtype is None else torch_dtype(dtype, f"{who}: dtype"))
    return finish(_on(ndarray(t), x.context), out)


def zeros_like(a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> ndarray:
    """Zeros of the shape and dtype of `a`."""
    return _like("zeros_like", a, torch.zeros_like, dtype, ctx, out)


def ones_like(a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> ndarray:
    """Ones of the shape and dtype of `a`."""
    return _like("ones_like", a, torch.ones_like, dtype, ctx, out)


def empty_like(prototype: Any, dtype: Any = None, order: str = "C", subok: bool = False, shape: Any = None) -> ndarray:
    """An array of the shape and dtype of `prototype`, without values."""
    return _like("empty_like", prototype, torch.empty_like, dtype, None, None)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None
) -> ndarray:
    """An array of the shape and dtype of `a`, filled with a number."""
    return _like("full_like", a, lambda t, dtype: torch.full_like(t, fill_value, dtype=dtype), dtype, ctx, out)


def _from_numpy(a: onp.ndarray, dtype: Any, ctx: Any) -> ndarray:
    return array(onp.asarray(a), dtype=onp.float32 if dtype is None else dtype, ctx=ctx)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, ctx: Any = None) -> ndarray:
    """Numbers from `start` (0) up to `stop`, float32 unless `dtype` says otherwise. ZeroDivisionError for step 0."""
    if step == 0:
        raise ZeroDivisionError("arange: step cannot be 0")
    start, stop = (0, start) if stop is None else (start, stop)
    return _from_numpy(onp.arange(start, stop, step), dtype, ctx)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    ctx: Any = None,
) -> Any:
    """`num` numbers at equal distances; with the distance if `retstep`."""
    values, step = onp.linspace(start, stop, num, endpoint, True, axis=axis)
    y = _from_numpy(values, dtype, ctx)
    return (y, step) if retstep else y


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0, dtype: Any = None, axis: int = 0,
    ctx: Any = None,
) -> ndarray:  # fmt: skip
    """`num` powers of `base` with evenly spaced exponents."""
    return _from_numpy(onp.logspace(start, stop, num, endpoint, base, axis=axis), dtype, ctx)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = onp.float32, **kwargs: Any) -> ndarray:
    """N x M zeros with ones on diagonal k. MXNetError for negative lengths."""
    if min(N, N if M is None else M) < 0:
        raise MXNetError(f"eye: N and M must not be negative, got {N} and {M}")
    return _from_numpy(onp.eye(N, M, k), dtype, kwargs.get("ctx"))


def identity(n: int, dtype: Any = None, ctx: Any = None) -> ndarray:
    """The identity matrix."""
    return eye(n, dtype=dtype, ctx=ctx)


def indices(dimensions: Any, dtype: Any = onp.int32, ctx: Any = None) -> ndarray:
    """The positions of all elements of an array of some shape, one array per axis."""
    return _from_numpy(onp.indices(dimensions), dtype, ctx)


def broadcast_to(array: Any, shape: Any) -> ndarray:
    """The array repeated along axes of length 1 until it has a shape; -2 in it is the array's own length there."""
    if isinstance(array, NUMBERS):
        return full(shape, array)
    x = _array("broadcast_to", array, "array")
    if isinstance(shape, (list, tuple)) and -2 in shape:
        own = (1,) * (len(shape) - x.ndim) + x.shape
        shape = tuple(own[i] if n == -2 else n for i, n in enumerate(shape))
    new = _shape("broadcast_to", shape)
    if len(new) < x.ndim or any(m not in (1, n) for m, n in zip(x.shape[::-1], new[::-1], strict=False)):
        raise MXNetError(f"broadcast_to: an array of shape {x.shape} does not broadcast to {new}")
    return _C.own(op.broadcast_to(x, shape=new), x)


def copy(a: Any, out: Any = None) -> ndarray:
    """A copy of an array."""
    return finish(op.copy(_array("copy", a)), out)


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether the pieces of memory from the first to the last element of two arrays overlap."""
    ends = []
    for t in (_array("shares_memory", a).tensor, _array("shares_memory", b, "b").tensor):
        last = sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
        ends.append((t.data_ptr(), t.data_ptr() + (last + 1) * t.element_size() if t.numel() else t.data_ptr()))
    (first, end), (second, until) = ends
    return max(first, second) < min(end, until)


may_share_memory = shares_memory
