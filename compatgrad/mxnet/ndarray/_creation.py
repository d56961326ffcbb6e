"""Functions that create arrays: from a shape, from numbers, and from arrays of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compatgrad.core.arrays import shareable
from compatgrad.core.shared_memory import note_shared

from .._profile import recorder
from ..base import MXNetError, numeric_types
from ..context import Context, current_context
from ..util import is_np_shape
from ._arguments import as_ints, whole
from ._indexing import in_range
from ._operator import not_an_array, parse, register
from .ndarray import NDArray, _on, torch_dtype

if TYPE_CHECKING:
    from .._typing import Dtype, Shape

__all__ = ["arange", "array", "empty", "eye", "from_dlpack", "from_numpy", "full", "linspace", "ones",
           "to_dlpack_for_read", "to_dlpack_for_write", "zeros"]  # fmt: skip


_INT = frozenset((int,))
# Functions whose shape MXNet converts in Python: other types raise TypeError, not MXNetError, and True counts as 1.
_CONVERTED = ("empty", "full")


def _shape(shape: Any, who: str, booleans: bool = False) -> tuple[int, ...]:
    if type(shape) is tuple and shape and _INT.issuperset(map(type, shape)) and min(shape) >= 0:
        return shape
    given = parse(shape) if isinstance(shape, str) else shape
    try:
        lengths = tuple(as_ints(who, "shape", given, booleans or who in _CONVERTED))
    except MXNetError:
        if who in _CONVERTED or isinstance(given, str) or given is None:
            raise TypeError(f"{who}: shape: expected an integer or a tuple of integers, got {shape!r}") from None
        raise
    shape = lengths
    if any(n < 0 for n in shape):
        raise MXNetError(f"{who}: shape: {shape} has a negative length")
    return shape


def _known(who: str, shape: Any) -> None:
    if type(shape) is tuple and shape and _INT.issuperset(map(type, shape)) and 0 not in shape:
        return
    if (np.size(shape) == 0 or 0 in np.atleast_1d(shape)) and not is_np_shape():
        raise MXNetError(f"{who}: shape: {shape} is of unknown size; zeros stand for themselves in mx.util.np_shape()")


def _made(fill: Any, shape: Any, ctx: Context | None, dtype: Any, who: str, out: NDArray | None = None) -> NDArray:
    context = Context(ctx) if ctx is not None else current_context()
    options = {"dtype": torch_dtype(dtype, f"{who}: dtype"), "device": context.torch_device}
    size = _shape(shape, who)
    t = recorder.made(f"_{who}", lambda: fill(size, **options)) if recorder.on else fill(size, **options)
    return _on(NDArray(t), context) if out is None else out._take(NDArray(t))


def _out_of(who: str, options: dict[str, Any]) -> NDArray | None:
    """The argument `out` of **kwargs, or None; MXNetError for an unknown argument."""
    for name in options:
        if name not in ("out", "name") and not (name.startswith("__") and name.endswith("__")):
            raise MXNetError(f"Cannot find argument '{name}', Possible Arguments: out, name, in operator {who}")
    return options.get("out")


def _stype(x: NDArray, stype: str | None) -> NDArray:
    return x if stype is None or stype == "default" else x.tostype(stype)


def zeros(
    shape: Shape, ctx: Context | None = None, dtype: Dtype | None = None, stype: str | None = None, **kwargs: Any
) -> NDArray:
    """An array of zeros.

    Args:
        shape: the lengths of all axes, or the only one.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is float32.
        stype: the storage type, "default" (None), "csr" or "row_sparse".
        **kwargs: `out`, an NDArray that is overwritten instead of a new one, and `name`, which has no effect.

    Returns:
        NDArray of `shape`, `dtype` and `stype`.

    Raises:
        TypeError: `shape` has no integers, or `dtype` is no dtype.
        ValueError: `stype` is "csr" and the array no matrix.
        mxnet.base.MXNetError: a length is negative; the shape is (), or a length is 0, which means "unknown" outside of
            `mx.util.np_shape()`; `out` has another shape; an argument is not known;
            `stype` has another value.

    Example:
        >>> nd.zeros((2, 3), dtype="int32").asnumpy()
        array([[0, 0, 0],
               [0, 0, 0]], dtype=int32)

    Source: `mxnet.nd.zeros` of MXNet 1.9.1.
    """
    if stype in (None, "default"):
        _known("zeros", shape)
    return _stype(_made(torch.zeros, shape, ctx, dtype, "zeros", _out_of("_zeros", kwargs)), stype)


def ones(shape: Shape, ctx: Context | None = None, dtype: Dtype | None = None, **kwargs: Any) -> NDArray:
    """An array of ones.

    Args:
        shape: the lengths of all axes, or the only one.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is float32.
        **kwargs: `out`, an NDArray that is overwritten instead of a new one, and `name`, which has no effect.

    Returns:
        NDArray of `shape` and `dtype`.

    Raises:
        TypeError: `shape` has no integers, or `dtype` is no dtype.
        mxnet.base.MXNetError: a length is negative; the shape is (), or a length is 0, which means "unknown" outside of
            `mx.util.np_shape()`; `out` has another shape; an argument is not known.

    Example:
        >>> nd.ones((2, 3)).asnumpy()
        array([[1., 1., 1.],
               [1., 1., 1.]], dtype=float32)

    Source: `mxnet.nd.ones` of MXNet 1.9.1.
    """
    _known("ones", shape)
    return _made(torch.ones, shape, ctx, dtype, "ones", _out_of("_ones", kwargs))


def empty(shape: Shape, ctx: Context | None = None, dtype: Dtype | None = None, stype: str | None = None) -> NDArray:
    """An array with uninitialized values; a sparse one stores none.

    Args:
        shape: the lengths of all axes, or the only one.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is float32.
        stype: the storage type, "default" (None), "csr" or "row_sparse".

    Returns:
        NDArray of `shape`, `dtype` and `stype`.

    Raises:
        TypeError: `shape` has no integers, or `dtype` is no dtype.
        ValueError: `stype` is "csr" and the array no matrix.
        mxnet.base.MXNetError: a length is negative, or `stype` has another value.

    Example:
        >>> nd.empty((2, 3)).shape
        (2, 3)

    Source: `mxnet.nd.empty` of MXNet 1.9.1.
    """
    if stype not in (None, "default"):
        return zeros(shape, ctx, dtype, stype)
    return _made(torch.empty, shape, ctx, dtype, "empty")


def full(
    shape: Shape, val: float, ctx: Context | None = None, dtype: Dtype = np.float32, out: NDArray | None = None
) -> NDArray:
    """An array filled with one number.

    Args:
        shape: the lengths of all axes, or the only one.
        val: the number; one that is too large for a floating dtype is infinite.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result.
        out: an NDArray that is overwritten instead of a new one.

    Returns:
        NDArray of `shape` and `dtype`.

    Raises:
        TypeError: `shape` has no integers, `val` is no number, or `dtype` is no dtype.
        mxnet.base.MXNetError: a length is negative, or `out` has another shape.

    Example:
        >>> nd.full((2, 2), 7, dtype="int32").asnumpy()
        array([[7, 7],
               [7, 7]], dtype=int32)

    Source: `mxnet.nd.full` of MXNet 1.9.1.
    """
    if not isinstance(val, numeric_types):
        raise TypeError(f"full: val: expected a number, got {type(val).__name__}")
    kind = torch_dtype(dtype, "full: dtype")
    val = in_range(val.item() if isinstance(val, np.generic) else val, kind)
    return _made(lambda s, **k: torch.full(s, val, **k), shape, ctx, dtype, "full", out)


def array(source_array: Any, ctx: Context | None = None, dtype: Dtype | None = None) -> NDArray:
    """A copy of an array, of nested lists or of a number.

    Args:
        source_array: an NDArray, a NumPy array, a torch tensor, a number, or nested lists of them.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is that of an NDArray, else float32.

    Returns:
        NDArray with the values of `source_array`.

    Raises:
        TypeError: `source_array` has something else than numbers, or `dtype` is no dtype.

    Example:
        >>> nd.array([[1, 2], [3, 4]]).asnumpy()
        array([[1., 2.],
               [3., 4.]], dtype=float32)

    Source: `mxnet.nd.array` of MXNet 1.9.1.
    """
    context = Context(ctx) if ctx is not None else current_context()
    if isinstance(source_array, NDArray):
        t = source_array.tensor
        t = t.to(device=context.torch_device, dtype=t.dtype if dtype is None else torch_dtype(dtype), copy=True)
        return _on(NDArray(t), context)
    if isinstance(source_array, torch.Tensor):
        source_array = source_array.detach().cpu().numpy()
    wanted = torch_dtype(dtype, "array: dtype")
    try:
        if isinstance(source_array, (list, tuple)) and any(isinstance(v, NDArray) for v in source_array):
            source_array = [v.asnumpy() if isinstance(v, NDArray) else v for v in source_array]
        a = np.array(source_array)
        if a.dtype.kind not in "biuf":
            raise TypeError
        if a.dtype.newbyteorder("=") in (np.uint16, np.uint32, np.uint64):
            a = a.astype(np.int64)
        t = torch.from_numpy(shareable(a)).contiguous()
    except (TypeError, ValueError):
        raise TypeError(
            f"array: source_array: expected an array or nested lists of numbers, got {source_array!r}"[:300]
        ) from None
    t = t.to(device=context.torch_device, dtype=wanted)
    return _on(NDArray(t), context)


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True, array_cls: type[NDArray] = NDArray) -> NDArray:
    """An NDArray on the CPU with the values and the dtype of a NumPy array, whose memory it takes over.

    Args:
        ndarray: a C-contiguous NumPy array of numbers; it becomes read-only with `zero_copy`.
        zero_copy: shares the memory; else the values are copied.
        array_cls: the class of the result.

    Returns:
        NDArray, of class `array_cls`, of the shape and dtype of `ndarray`.

    Raises:
        TypeError: `ndarray` is no NumPy array.
        ValueError: with `zero_copy`, it is not C-contiguous, or has another byte order than the machine.

    Example:
        >>> a = np.array([1.0, 2.0])
        >>> x = nd.from_numpy(a)
        >>> x[0] = 5
        >>> a
        array([5., 2.])

    Source: `mxnet.nd.from_numpy` of MXNet 1.9.1.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy: ndarray: expected a NumPy array, got {type(ndarray).__name__}")
    if not zero_copy:
        return _in_class(array(ndarray, dtype=ndarray.dtype), array_cls)
    if not ndarray.flags["C_CONTIGUOUS"]:
        raise ValueError("from_numpy: only C-contiguous arrays can share their memory; pass zero_copy=False")
    if not ndarray.dtype.isnative:
        raise ValueError(f"from_numpy: {ndarray.dtype} has another byte order than the machine; pass zero_copy=False")
    x = NDArray(torch.from_numpy(ndarray))
    note_shared(x.tensor, given_away=False)
    ndarray.setflags(write=False)
    return _in_class(x, array_cls)


def _in_class(x: NDArray, cls: type[NDArray]) -> NDArray:
    return x if cls is NDArray else cls(x)


def from_dlpack(dlpack: Any) -> NDArray:
    """An NDArray on another library's memory.

    Args:
        dlpack: a DLPack capsule, which can be read once, or an array with `__dlpack__`.

    Returns:
        NDArray of the shape, dtype and device of what was given; writing to one of both changes the other.

    Raises:
        RuntimeError: it is neither, or the capsule was read before.

    Example:
        >>> x = nd.from_dlpack(torch.tensor([1, 2]))
        >>> x.asnumpy()
        array([1, 2])

    Source: `mxnet.nd.from_dlpack` of MXNet 1.9.1.
    """
    x = NDArray(torch.from_dlpack(dlpack))
    note_shared(x.tensor, given_away=False)
    return x


def to_dlpack_for_read(data: NDArray) -> Any:
    """The memory of an array for another library.

    Args:
        data: any shape, any dtype.

    Returns:
        A DLPack capsule, which can be read once.

    Raises:
        AssertionError: `data` is no NDArray.

    Example:
        >>> torch.from_dlpack(nd.to_dlpack_for_read(nd.array([1, 2])))
        tensor([1., 2.])

    Source: `mxnet.nd.to_dlpack_for_read` of MXNet 1.9.1.
    """
    if not isinstance(data, NDArray):
        raise not_an_array("to_dlpack_for_read", "data", data)
    return data.to_dlpack_for_read()


to_dlpack_for_write = to_dlpack_for_read


def arange(
    start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool | None = None,
    ctx: Context | None = None, dtype: Dtype = np.float32,
) -> NDArray:  # fmt: skip
    """Numbers at equal distances: `start`, `start + step`, and so on, without `stop`.

    Args:
        start: the first number; 0 if `stop` is None, which then has this value.
        stop: the end, which is left out.
        step: the distance, not 0.
        repeat: how often each number comes.
        infer_range: without effect on arrays.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; an integer one rounds `start` and `step` towards 0.

    Returns:
        NDArray of shape (ceil((stop - start) / step) * repeat,).

    Raises:
        TypeError: `start`, `stop` or `step` is no number, or `dtype` is no dtype.
        mxnet.base.MXNetError: `step` is 0, or there is no number from `start` to `stop`.

    Example:
        >>> nd.arange(1, 7, 2, repeat=2).asnumpy()
        array([1., 1., 3., 3., 5., 5.], dtype=float32)

    Source: `mxnet.nd.arange` of MXNet 1.9.1.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise MXNetError("arange: step: expected another number than 0")
    if (stop - start) * step <= 0:
        raise MXNetError(f"arange: invalid range (start, stop, step) = ({start}, {stop}, {step})")
    n = int(np.ceil((stop - start) / step))
    context = Context(ctx) if ctx is not None else current_context()
    kind = torch_dtype(dtype, "arange: dtype")
    if not kind.is_floating_point:  # an integer dtype has an integer step, as in NumPy
        start, step = int(start), int(step)
    working = torch.float32 if kind == torch.float32 else torch.float64  # rounded as the original does
    t = torch.arange(n, dtype=working) * torch.tensor(step, dtype=working) + torch.tensor(start, dtype=working)
    t = t.repeat_interleave(repeat) if repeat != 1 else t
    return _on(NDArray(t.to(device=context.torch_device, dtype=kind)), context)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Context | None = None,
    dtype: Dtype = np.float32,
) -> NDArray:
    """`num` numbers at equal distances from `start` to `stop`.

    Args:
        start: the first number.
        stop: the last number, or the one after the last without `endpoint`.
        num: how many numbers.
        endpoint: `stop` is one of them.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result.

    Returns:
        NDArray of shape (num,).

    Raises:
        TypeError: `num` is no integer, `start` or `stop` no number, or `dtype` is no dtype.
        ValueError: `num` is negative.

    Example:
        >>> nd.linspace(0, 1, 5).asnumpy()
        array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)

    Source: `mxnet.nd.linspace` of MXNet 1.9.1.
    """
    values = np.linspace(start, stop, num, endpoint=endpoint)
    return array(values, ctx=ctx, dtype=dtype)


def eye(
    N: int,
    M: int = 0,
    k: int = 0,
    ctx: Context | None = None,
    dtype: Dtype | None = None,
    **kwargs: Any,
) -> NDArray:
    """A matrix of zeros with ones on a diagonal.

    Args:
        N: the number of rows.
        M: the number of columns; 0 is `N`.
        k: which diagonal: 0 begins at the first element, k > 0 lies above it, k < 0 below.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is float32.
        **kwargs: `out`, an NDArray that is overwritten instead of a new one, and `name`, which has no effect.

    Returns:
        NDArray of shape (N, M).

    Raises:
        TypeError, ValueError: a length is negative; `dtype` is no dtype.
        mxnet.base.MXNetError: `N`, `M` or `k` is no integer; `out` has another shape; an argument is not known.

    Example:
        >>> nd.eye(2, 3, k=1).asnumpy()
        array([[0., 1., 0.],
               [0., 0., 1.]], dtype=float32)

    Source: `mxnet.nd.eye` of MXNet 1.9.1.
    """
    rows, columns, diagonal = (whole("eye", name, parse(v)) for name, v in (("N", N), ("M", M), ("k", k)))
    x = array(np.eye(rows, columns or rows, diagonal), ctx=ctx, dtype=dtype)
    out = _out_of("_eye", kwargs)
    return x if out is None else out._take(x)


for _function, _alias in ((zeros, "_zeros"), (ones, "_ones"), (full, "_full"), (arange, "_arange"), (eye, "_eye")):
    register(_function, (_alias,), inputs="")
