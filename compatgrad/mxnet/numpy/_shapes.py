"""Arrays of `mx.np` from nothing, and functions that move elements around.

Results have memory of their own (`_C.own`), as the original's: writing to them leaves the arguments as they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as onp
import torch

from compatgrad import _C

from ..base import MXNetError
from ..context import Context, current_context
from ..ndarray._operator import not_an_array, op
from ..ndarray.ndarray import NDArray, _on, torch_dtype
from ._array import NUMBERS, finish, ndarray, promoted

__all__ = [
    "append", "arange", "array", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to",
    "column_stack", "concatenate", "copy", "dsplit", "dstack", "empty", "empty_like", "expand_dims", "eye", "full",
    "full_like", "hsplit", "hstack", "identity", "indices", "linspace", "logspace", "may_share_memory", "moveaxis",
    "ndim", "ones", "ones_like", "ravel", "reshape", "row_stack", "shape", "shares_memory", "size", "split",
    "squeeze", "stack", "swapaxes", "transpose", "vsplit", "vstack", "zeros", "zeros_like",
]  # fmt: skip


def _array(who: str, x: Any, name: str = "a") -> ndarray:
    if not isinstance(x, NDArray):
        raise not_an_array(who, name, x)
    return ndarray._around(x)


def _shape(who: str, value: Any) -> tuple[int, ...]:
    try:
        result = (int(value),) if isinstance(value, (int, onp.integer)) else tuple(int(n) for n in value)
    except (TypeError, ValueError):
        raise TypeError(f"{who}: shape: expected an integer or a tuple of integers, got {value!r}") from None
    if any(n < 0 for n in result):
        raise MXNetError(f"{who}: shape {result} has a negative length")
    return result


def _context(ctx: Any) -> Context:
    return current_context() if ctx is None else Context(ctx)


def _order(who: str, order: str) -> None:
    if order != "C":
        raise NotImplementedError(f"{who}: order must be 'C', got {order!r}")


def _axis(who: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise MXNetError(f"{who}: axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim


# ---- from nothing


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


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether the pieces of memory from the first to the last element of two arrays overlap."""
    ends = []
    for t in (_array("shares_memory", a).tensor, _array("shares_memory", b, "b").tensor):
        last = sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
        ends.append((t.data_ptr(), t.data_ptr() + (last + 1) * t.element_size() if t.numel() else t.data_ptr()))
    (first, end), (second, until) = ends
    return max(first, second) < min(end, until)


may_share_memory = shares_memory


def copy(a: Any, out: Any = None) -> ndarray:
    """A copy of an array."""
    return finish(op.copy(_array("copy", a)), out)


# ---- shapes


def shape(a: Any) -> tuple[int, ...]:
    """The lengths of the axes."""
    return tuple(a.shape) if hasattr(a, "shape") else onp.shape(a)


def ndim(a: Any) -> int:
    """The number of axes."""
    return len(shape(a))


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the length of an axis."""
    return math.prod(shape(a)) if axis is None else shape(a)[axis]


def reshape(a: Any, newshape: Any, order: str = "C", out: Any = None) -> ndarray:
    """The same elements in another shape, of which one length may be -1. MXNetError where their number differs."""
    _order("reshape", order)
    x = _array("reshape", a)
    new = (int(newshape),) if isinstance(newshape, (int, onp.integer)) else tuple(int(n) for n in newshape)
    known = math.prod(n for n in new if n != -1)
    if new.count(-1) > 1 or any(n < -1 for n in new) or (
        known != x.size if -1 not in new else (x.size % known if known else x.size)
    ):  # fmt: skip
        raise MXNetError(f"reshape: cannot reshape an array of shape {x.shape} into {new}")
    if -1 in new and not known:
        new = tuple(0 if n == -1 else n for n in new)
    return finish(_C.own(op.reshape(x, shape=new), x), out)


def ravel(x: Any, order: str = "C") -> ndarray:
    """The elements in one axis."""
    return reshape(x, -1, order=order)


def transpose(a: Any, axes: Any = None) -> ndarray:
    """The axes in another order, or reversed."""
    x = _array("transpose", a)
    if axes is None:
        return _C.own(op.transpose(x), x)
    axes = tuple(_axis("transpose", i, x.ndim) for i in axes) or tuple(range(x.ndim))[::-1]  # () too reverses
    if len(set(axes)) < len(axes):
        raise ValueError(f"transpose: an axis is repeated in {axes}")
    if sorted(axes) != list(range(x.ndim)):
        raise MXNetError(f"transpose: axes {axes} are no permutation for an array of shape {x.shape}")
    return _C.own(op.transpose(x, axes=axes), x)


def swapaxes(a: Any, axis1: int, axis2: int) -> ndarray:
    """Two axes exchanged."""
    x = _array("swapaxes", a)
    order = list(range(x.ndim))
    i, j = _axis("swapaxes", axis1, x.ndim), _axis("swapaxes", axis2, x.ndim)
    order[i], order[j] = j, i
    return _C.own(op.transpose(x, axes=tuple(order)), x)


def moveaxis(a: Any, source: Any, destination: Any) -> ndarray:
    """Axes at other places."""
    x = _array("moveaxis", a)
    src, dst = ([v] if isinstance(v, int) else list(v) for v in (source, destination))
    src, dst = [_axis("moveaxis", i, x.ndim) for i in src], [_axis("moveaxis", i, x.ndim) for i in dst]
    if len(src) != len(dst):
        raise ValueError(
            f"moveaxis: source and destination must have the same number of elements, got {source} and {destination}"
        )
    order = [i for i in range(x.ndim) if i not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return _C.own(op.transpose(x, axes=tuple(order)), x)


def expand_dims(a: Any, axis: Any) -> ndarray:
    """New axes of length 1."""
    y = x = _array("expand_dims", a)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    n = x.ndim + len(axes)
    for i in sorted(_axis("expand_dims", i, n) for i in axes):
        y = op.expand_dims(y, axis=i)
    return _C.own(y, x)


def squeeze(a: Any, axis: Any = None, out: Any = None) -> ndarray:
    """Without axes of length 1. MXNetError for a longer one."""
    x = _array("squeeze", a)
    return finish(_C.own(_squeezed(x, axis), x), out)


def _squeezed(x: ndarray, axis: Any) -> ndarray:
    if axis is None:
        return op.squeeze(x)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if not x.ndim and set(axes) <= {0, -1}:
        return op.copy(x)
    axes = tuple(_axis("squeeze", i, x.ndim) for i in axes)
    if any(x.shape[i] != 1 for i in axes):
        raise MXNetError(f"squeeze: axis {axis} of an array of shape {x.shape} is longer than 1")
    return op.reshape(x, shape=tuple(n for i, n in enumerate(x.shape) if i not in axes))


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


def _atleast(n: int, arys: tuple[Any, ...]) -> Any:
    result = []
    for a in arys:
        y = x = _array(f"atleast_{n}d", a)
        if x.ndim < n:
            ones_before = 1 if n == 3 and x.ndim == 1 else 0 if n == 3 and x.ndim == 2 else n - x.ndim
            y = op.reshape(x, shape=(1,) * ones_before + x.shape + (1,) * (n - x.ndim - ones_before))
        result.append(_C.own(y, x))
    return result[0] if len(result) == 1 else result


def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis."""
    return _atleast(1, arys)


def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes."""
    return _atleast(2, arys)


def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three axes."""
    return _atleast(3, arys)


# ---- joining and cutting


def _sequence(who: str, seq: Any) -> list[Any]:
    xs = [_array(who, x, f"seq[{i}]") for i, x in enumerate(seq)]
    if not xs:
        raise ValueError(f"{who}: need at least one array")
    return [ndarray._around(x) for x in promoted(who, *xs)]


def _joined(who: str, body: Any, xs: list[Any], axis: int, out: Any) -> Any:
    try:
        return finish(body(xs, axis=axis), out)
    except (RuntimeError, ValueError, IndexError) as e:
        raise MXNetError(f"{who}: shapes {[x.shape for x in xs]} do not fit along axis {axis}: {e}") from None


def concatenate(seq: Any, axis: int | None = 0, out: Any = None) -> Any:
    """Arrays joined along an axis; None: flat."""
    xs = _sequence("concatenate", seq)
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    return _joined("concatenate", op.concat, xs, axis, out)


def stack(arrays: Any, axis: int = 0, out: Any = None) -> Any:
    """Arrays of one shape joined along a new axis."""
    return _joined("stack", op.stack, _sequence("stack", arrays), axis, out)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`values` behind `arr`."""
    return concatenate((arr, values), axis)


def vstack(arrays: Any, out: Any = None) -> Any:
    """Rows on top of each other."""
    return concatenate([atleast_2d(x) for x in arrays], 0, out)


def row_stack(arrays: Any) -> Any:
    """`vstack` under another name."""
    return vstack(arrays)


def hstack(arrays: Any) -> Any:
    """Arrays side by side: along the second axis, or the first of vectors."""
    xs = [atleast_1d(x) for x in arrays]
    return concatenate(xs, 0 if xs and xs[0].ndim == 1 else 1)


def dstack(arrays: Any) -> Any:
    """Arrays joined along the third axis."""
    return concatenate([atleast_3d(x) for x in arrays], 2)


def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix."""
    return concatenate([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in tup], 1)


def _cut(who: str, x: Any, sections: Any, axis: int, equal: bool) -> list[Any]:
    x = _array(who, x, "ary")
    axis = _axis(who, axis, x.ndim)
    n = x.shape[axis]
    if isinstance(sections, (int, onp.integer)):
        k = int(sections)
        if k <= 0:
            raise ValueError(f"{who}: the number of sections must be larger than 0")
        if equal and n % k:
            raise ValueError(f"{who}: axis {axis} of length {n} cannot be split into {k} equal parts")
        ends = onp.cumsum([0] + [n // k + (i < n % k) for i in range(k)]).tolist()
    else:
        ends = [0, *(int(i) for i in sections), n]
    lead = (slice(None),) * axis
    return [_C.own(op.get_item(x, index=(*lead, slice(a, b))), x) for a, b in zip(ends[:-1], ends[1:], strict=True)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array cut into equal parts, or before the given positions; a list."""
    return _cut("split", ary, indices_or_sections, axis, True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array cut into parts that need not be equal; a list."""
    return _cut("array_split", ary, indices_or_sections, axis, False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the first axis, one of two at least."""
    if _array("vsplit", ary, "ary").ndim < 2:
        raise ValueError(f"vsplit only works on arrays of 2 or more dimensions, got {ary.ndim}")
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the second axis, or the first of a vector."""
    if _array("hsplit", ary, "ary").ndim < 1:
        raise ValueError(f"hsplit only works on arrays of 1 or more dimensions, got {ary.ndim}")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the third axis."""
    if _array("dsplit", ary, "ary").ndim < 3:
        raise ValueError(f"dsplit only works on arrays of 3 or more dimensions, got {ary.ndim}")
    return split(ary, indices_or_sections, 2)
