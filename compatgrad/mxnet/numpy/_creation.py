"""Functions of `mx.np` that create arrays: from a shape, from numbers, and from other arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp
import torch

from compatgrad import _C
from compatgrad.core.arrays import shareable

from .._docs import sharing
from ..base import MXNetError
from ..ndarray._arguments import as_ints, whole
from ..ndarray._creation import _shape
from ..ndarray._operator import op
from ..ndarray.ndarray import NDArray, _on, torch_dtype
from ._arguments import _array, _context, _order
from ._array import NUMBERS, finish, ndarray
from ._docs import documented

if TYPE_CHECKING:
    from .._typing import Dtype, Shape
    from ..context import Context

__all__ = [
    "arange", "array", "broadcast_to", "copy", "empty", "empty_like", "eye", "full", "full_like", "identity", "indices",
    "linspace", "logspace", "may_share_memory", "ones", "ones_like", "shares_memory", "zeros", "zeros_like",
]  # fmt: skip


@documented
def array(object: Any, dtype: Dtype | None = None, ctx: Context | None = None) -> ndarray:
    """A copy of an array, or an array of nested lists of numbers.

    Args:
        object: an ndarray, a NumPy array, a tensor of torch, a number, or nested sequences of numbers and arrays.
        dtype: None is that of an array, and float32 for numbers and sequences.

    Returns:
        ndarray in new memory.

    Raises:
        TypeError: `object` holds something else than numbers, rows differ in length, or `dtype` is unknown.
        ValueError: `object` is an `mx.nd.NDArray`, whose method `as_np_ndarray` converts it.

    Example:
        >>> mx.np.array([[1, 2], [3, 4]])
        array([[1., 2.],
               [3., 4.]])
        >>> mx.np.array(np.arange(3))
        array([0, 1, 2], dtype=int64)
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
        t = torch.from_numpy(shareable(a)).contiguous()
    wanted = t.dtype if dtype is None else torch_dtype(dtype, "array: dtype")
    return _on(ndarray(t.to(device=context.torch_device, dtype=wanted, copy=True)), context)


def _plain(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.asnumpy()
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _made(who: str, fill: Any, shape: Any, dtype: Any, ctx: Any, order: str, out: Any = None) -> ndarray:
    _order(who, order)
    context = _context(ctx)
    t = fill(_shape(shape, who, who == "zeros"), dtype=torch_dtype(dtype, f"{who}: dtype"), device=context.torch_device)
    return finish(_on(ndarray(t), context), out)


_FILLED = """
    Returns:
        ndarray.

    Raises:
        TypeError: `shape` is no shape, or `dtype` no dtype.
        NotImplementedError: `order` is not "C".
        mxnet.base.MXNetError: a length is negative.
    """


@documented
@sharing(_FILLED)
def zeros(shape: Shape, dtype: Dtype | None = None, order: str = "C", ctx: Context | None = None) -> ndarray:
    """An array of zeros.

    Example:
        >>> mx.np.zeros((2, 2))
        array([[0., 0.],
               [0., 0.]])
    """
    return _made("zeros", torch.zeros, shape, dtype, ctx, order)


@documented
@sharing(_FILLED)
def ones(shape: Shape, dtype: Dtype | None = onp.float32, order: str = "C", ctx: Context | None = None) -> ndarray:
    """An array of ones.

    Example:
        >>> mx.np.ones(3, dtype="int32")
        array([1, 1, 1], dtype=int32)
    """
    return _made("ones", torch.ones, shape, dtype, ctx, order)


@documented
@sharing(_FILLED)
def empty(shape: Shape, dtype: Dtype | None = onp.float32, order: str = "C", ctx: Context | None = None) -> ndarray:
    """An array with uninitialized values.

    Example:
        >>> mx.np.empty((2, 3)).shape
        (2, 3)
    """
    return _made("empty", torch.empty, shape, dtype, ctx, order)


@documented
def full(
    shape: Shape, fill_value: Any, dtype: Dtype | None = None, order: str = "C", ctx: Context | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """An array of one number, or of an array that broadcasts.

    Args:
        fill_value: a number, or an ndarray that broadcasts to `shape`.
        dtype: None is that of an array, bool for True and False, and float32 for other numbers.

    Returns:
        ndarray.

    Raises:
        TypeError: `fill_value` is no number, or `dtype` no dtype.
        NotImplementedError: `order` is not "C".
        mxnet.base.MXNetError: `shape` is no shape, a length is negative, or `fill_value` does not broadcast to `shape`.

    Example:
        >>> mx.np.full((2,), 7)
        array([7., 7.])
        >>> mx.np.full((2, 2), mx.np.array([1, 2]))
        array([[1., 2.],
               [1., 2.]])
    """
    shape = tuple(as_ints("full", "shape", shape))
    if isinstance(fill_value, NDArray):
        y = broadcast_to(fill_value, _shape(shape, "full"))
        return finish(y.astype(dtype) if dtype is not None else op.copy(y), out)
    dtype = onp.bool_ if dtype is None and isinstance(fill_value, bool) else dtype
    return _made("full", lambda s, **k: torch.full(s, fill_value, **k), shape, dtype, ctx, order, out)


def _like(who: str, a: Any, fill: Any, dtype: Any, out: Any) -> ndarray:
    x = _array(who, a)
    t = fill(x.tensor.detach(), dtype=None if dtype is None else torch_dtype(dtype, f"{who}: dtype"))
    return finish(_on(ndarray(t), x.context), out)


_LIKE = """
    Args:
        dtype: None is that of `a`.
        order: without effect.
        ctx: without effect: the result is on the device of `a`.

    Raises:
        AssertionError: `a` is no array.
    """


@documented
@sharing(_LIKE)
def zeros_like(
    a: ndarray, dtype: Dtype | None = None, order: str = "C", ctx: Context | None = None, out: ndarray | None = None
) -> ndarray:
    """Zeros of the shape of an array.

    Example:
        >>> mx.np.zeros_like(mx.np.array([1, 2]))
        array([0., 0.])
    """
    return _like("zeros_like", a, torch.zeros_like, dtype, out)


@documented
@sharing(_LIKE)
def ones_like(
    a: ndarray, dtype: Dtype | None = None, order: str = "C", ctx: Context | None = None, out: ndarray | None = None
) -> ndarray:
    """Ones of the shape of an array.

    Example:
        >>> mx.np.ones_like(mx.np.array([1, 2]))
        array([1., 1.])
    """
    return _like("ones_like", a, torch.ones_like, dtype, out)


@documented
def empty_like(
    prototype: ndarray, dtype: Dtype | None = None, order: str = "C", subok: bool = False, shape: Shape | None = None
) -> ndarray:
    """An array of the shape of another one, with uninitialized values.

    Args:
        prototype: ndarray of any shape and dtype.
        dtype: None is that of `prototype`.
        order: without effect.
        subok: without effect.
        shape: without effect: the shape is that of `prototype`.

    Raises:
        AssertionError: `prototype` is no array.

    Example:
        >>> mx.np.empty_like(mx.np.ones((2, 3))).shape
        (2, 3)
    """
    return _like("empty_like", prototype, torch.empty_like, dtype, None)


@documented
@sharing(_LIKE)
def full_like(
    a: ndarray, fill_value: Any, dtype: Dtype | None = None, order: str = "C", ctx: Context | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """An array of the shape of another one, filled with a number.

    Args:
        fill_value: a number.

    Raises:
        AssertionError: `a` is no array.
        TypeError: `fill_value` is no number.

    Example:
        >>> mx.np.full_like(mx.np.array([1, 2]), 5)
        array([5., 5.])
    """
    return _like("full_like", a, lambda t, dtype: torch.full_like(t, fill_value, dtype=dtype), dtype, out)


def _from_numpy(a: onp.ndarray, dtype: Any, ctx: Any) -> ndarray:
    return array(onp.asarray(a), dtype=onp.float32 if dtype is None else dtype, ctx=ctx)


@documented
def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Dtype | None = None, ctx: Context | None = None
) -> ndarray:
    """Numbers at equal distances, from `start` up to `stop`, which is not one of them.

    Args:
        start: the first number; without `stop`, it is `stop`, and 0 the first number.
        stop: where the numbers end.
        step: their distance.

    Returns:
        ndarray of one axis.

    Raises:
        ZeroDivisionError: `step` is 0.
        TypeError: an argument is no number.

    Example:
        >>> mx.np.arange(3)
        array([0., 1., 2.])
        >>> mx.np.arange(4, 0, -2)
        array([4., 2.])
    """
    if step == 0:
        raise ZeroDivisionError("arange: step cannot be 0")
    start, stop = (0, start) if stop is None else (start, stop)
    return _from_numpy(onp.arange(start, stop, step), dtype, ctx)


@documented
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Dtype | None = None,
    axis: int = 0, ctx: Context | None = None,
) -> ndarray | tuple[ndarray, float]:  # fmt: skip
    """Numbers at equal distances between two ends.

    Args:
        start: the first number, or a NumPy array of them.
        stop: the last number, or a NumPy array of them.
        num: how many numbers, 0 or more.
        endpoint: whether `stop` is the last of them; else it comes next after them.
        retstep: whether the distance is a result too.
        axis: where the axis of the numbers stands, if `start` or `stop` is an array.

    Returns:
        ndarray; with `retstep` a tuple of it and of the distance.

    Raises:
        ValueError: `num` is negative.

    Example:
        >>> mx.np.linspace(0, 1, 5)
        array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    values, step = onp.linspace(start, stop, num, endpoint, True, axis=axis)
    y = _from_numpy(values, dtype, ctx)
    return (y, step) if retstep else y


@documented
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0, dtype: Dtype | None = None,
    axis: int = 0, ctx: Context | None = None,
) -> ndarray:  # fmt: skip
    """Powers of a number whose exponents have equal distances.

    Args:
        start: the first exponent, or a NumPy array of them.
        stop: the last exponent, or a NumPy array of them.
        num: how many numbers, 0 or more.
        endpoint: whether `stop` is the last exponent; else it comes next after them.
        base: the number that is raised.
        axis: where the axis of the numbers stands, if `start` or `stop` is an array.

    Returns:
        ndarray.

    Raises:
        ValueError: `num` is negative.

    Example:
        >>> mx.np.logspace(0, 2, 3)
        array([  1.,  10., 100.])
    """
    return _from_numpy(onp.logspace(start, stop, num, endpoint, base, axis=axis), dtype, ctx)


@documented
def eye(N: int, M: int | None = None, k: int = 0, dtype: Dtype | None = onp.float32, **kwargs: Any) -> ndarray:
    """A matrix of zeros with ones on a diagonal.

    Args:
        N: the number of rows.
        M: the number of columns; None is `N`.
        **kwargs: `ctx`, the device of the result.

    Returns:
        ndarray of shape (N, M).

    Raises:
        mxnet.base.MXNetError: `N` or `M` is negative.

    Example:
        >>> mx.np.eye(2, 3, k=1)
        array([[0., 1., 0.],
               [0., 0., 1.]])
    """
    N, M, k = whole("eye", "N", N), None if M is None else whole("eye", "M", M), whole("eye", "k", k)
    if min(N, N if M is None else M) < 0:
        raise MXNetError(f"eye: N and M must not be negative, got {N} and {M}")
    return _from_numpy(onp.eye(N, M, k), dtype, kwargs.get("ctx"))


@documented
def identity(n: int, dtype: Dtype | None = None, ctx: Context | None = None) -> ndarray:
    """The identity matrix.

    Args:
        n: the number of rows and columns.

    Returns:
        ndarray of shape (n, n).

    Raises:
        mxnet.base.MXNetError: `n` is negative.

    Example:
        >>> mx.np.identity(2)
        array([[1., 0.],
               [0., 1.]])
    """
    return eye(n, dtype=dtype, ctx=ctx)


@documented
def indices(dimensions: Sequence[int], dtype: Dtype | None = onp.int32, ctx: Context | None = None) -> ndarray:
    """The positions of all elements of an array of some shape.

    Args:
        dimensions: the shape, a sequence of integers.
        dtype: the dtype of the result; None is float32.

    Returns:
        ndarray of shape (len(dimensions), *dimensions): positions along the first axis, those along the next one, …

    Raises:
        TypeError: `dimensions` is no sequence.

    Example:
        >>> rows, columns = mx.np.indices((2, 2))
        >>> columns
        array([[0, 1],
               [0, 1]], dtype=int32)
    """
    return _from_numpy(onp.indices(dimensions), dtype, ctx)


@documented
def broadcast_to(array: ndarray | float, shape: Shape) -> ndarray:
    """An array repeated along axes of length 1, and along new axes before them, until it has a shape.

    Args:
        array: ndarray, or a number.
        shape: an integer, or a sequence of them, in which -2 is the array's own length.

    Raises:
        AssertionError: `array` is neither an array nor a number.
        mxnet.base.MXNetError: the array does not broadcast to the shape.

    Example:
        >>> mx.np.broadcast_to(mx.np.array([1, 2]), (2, 2))
        array([[1., 2.],
               [1., 2.]])
    """
    if isinstance(array, NUMBERS):
        return full(shape, array)
    x = _array("broadcast_to", array, "array")
    if isinstance(shape, (list, tuple)) and -2 in shape:
        own = (1,) * (len(shape) - x.ndim) + x.shape
        shape = tuple(own[i] if n == -2 else n for i, n in enumerate(shape))
    new = _shape(shape, "broadcast_to")
    if len(new) < x.ndim or any(m not in (1, n) for m, n in zip(x.shape[::-1], new[::-1], strict=False)):
        raise MXNetError(f"broadcast_to: an array of shape {x.shape} does not broadcast to {new}")
    return _C.own(op.broadcast_to(x, shape=new), x)


@documented
def copy(a: ndarray, out: ndarray | None = None) -> ndarray:
    """A copy of an array; gradients pass.

    Example:
        >>> x = mx.np.ones(2)
        >>> y = mx.np.copy(x)
        >>> y[:] = 3
        >>> x
        array([1., 1.])
    """
    return finish(op.copy(_array("copy", a)), out)


@documented
def shares_memory(a: ndarray, b: ndarray, max_work: Any = None) -> bool:
    """Whether the pieces of memory from the first to the last element of two arrays overlap.

    Args:
        b: another array.
        max_work: without effect.

    Returns:
        bool.

    Raises:
        AssertionError: `a` or `b` is no array.

    Example:
        >>> x = mx.np.arange(4)
        >>> mx.np.shares_memory(x, x[1:]), mx.np.shares_memory(x, x.copy())
        (True, False)
    """
    ends = []
    for t in (_array("shares_memory", a).tensor, _array("shares_memory", b, "b").tensor):
        last = sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
        ends.append((t.data_ptr(), t.data_ptr() + (last + 1) * t.element_size() if t.numel() else t.data_ptr()))
    (first, end), (second, until) = ends
    return max(first, second) < min(end, until)


may_share_memory = shares_memory
