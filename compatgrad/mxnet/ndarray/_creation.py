"""Arrays from nothing, from numbers and from other libraries' arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .._profile import recorder
from ..base import MXNetError
from ..context import Context, current_context
from ..util import is_np_shape
from ._indexing import in_range
from ._operator import register
from .ndarray import NDArray, _on, torch_dtype

__all__ = ["arange", "array", "empty", "eye", "from_dlpack", "from_numpy", "full", "linspace", "ones",
           "to_dlpack_for_read", "to_dlpack_for_write", "zeros"]  # fmt: skip


def _shape(shape: Any, who: str) -> tuple[int, ...]:
    try:
        shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
    except (TypeError, ValueError):
        raise TypeError(f"{who}: shape: expected an integer or a tuple of integers, got {shape!r}") from None
    if any(n < 0 for n in shape):
        raise MXNetError(f"{who}: shape: {shape} has a negative length")
    return shape


def _known(who: str, shape: Any) -> None:
    whole = not isinstance(shape, (int, np.integer)) and len(shape) == 0
    if (whole or 0 in np.atleast_1d(shape)) and not is_np_shape():
        raise MXNetError(f"{who}: shape: {shape} is of unknown size; zeros stand for themselves in mx.util.np_shape()")


def _made(fill: Any, shape: Any, ctx: Context | None, dtype: Any, who: str, out: NDArray | None = None) -> NDArray:
    context = Context(ctx) if ctx is not None else current_context()
    options = {"dtype": torch_dtype(dtype, f"{who}: dtype"), "device": context.torch_device}
    size = _shape(shape, who)
    t = recorder.made(f"_{who}", lambda: fill(size, **options)) if recorder.on else fill(size, **options)
    return _on(NDArray(t), context) if out is None else out._take(NDArray(t))


def _stype(x: NDArray, stype: str | None) -> NDArray:
    return x if stype is None or stype == "default" else x.tostype(stype)


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None, **kwargs) -> NDArray:
    """Zeros, float32 unless `dtype` says otherwise. MXNetError for a shape that ones refuses."""
    if stype in (None, "default"):
        _known("zeros", shape)
    return _stype(_made(torch.zeros, shape, ctx, dtype, "zeros", kwargs.get("out")), stype)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = None, **kwargs) -> NDArray:
    """Ones, float32 unless `dtype` says otherwise.

    MXNetError for the shape () and for axes of length 0, which mean "unknown" unless `util.set_np_shape` is on.
    """
    _known("ones", shape)
    return _made(torch.ones, shape, ctx, dtype, "ones", kwargs.get("out"))


def empty(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None) -> NDArray:
    """An array whose values are whatever the memory holds; a sparse one holds none."""
    if stype not in (None, "default"):
        return zeros(shape, ctx, dtype, stype)
    return _made(torch.empty, shape, ctx, dtype, "empty")


def full(shape: Any, val: float, ctx: Context | None = None, dtype: Any = np.float32, out: NDArray | None = None):
    """An array filled with `val`."""
    if isinstance(val, float):
        val = in_range(val, torch_dtype(dtype, "full: dtype"))
    return _made(lambda s, **k: torch.full(s, val, **k), shape, ctx, dtype, "full", out)


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """A copy of an NDArray, a NumPy array, a number or nested lists. float32 unless `dtype` says otherwise; an
    NDArray keeps its type. TypeError for what is no array.
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
        if not a.dtype.isnative:
            a = a.astype(a.dtype.newbyteorder("="))
        if a.dtype in (np.uint16, np.uint32, np.uint64):
            a = a.astype(np.int64)
        t = torch.from_numpy(np.ascontiguousarray(a)).reshape(a.shape)
    except (TypeError, ValueError):
        raise TypeError(
            f"array: source_array: expected an array or nested lists of numbers, got {source_array!r}"[:300]
        ) from None
    t = t.to(device=context.torch_device, dtype=wanted)
    return _on(NDArray(t), context)


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True, array_cls: type[NDArray] = NDArray) -> NDArray:
    """An NDArray of the NumPy array's type. With `zero_copy` it takes over the memory, and `ndarray` becomes
    read-only. ValueError for an array that is not C-contiguous. `array_cls`: the class of the result.
    """
    if not zero_copy:
        return _in_class(array(ndarray, dtype=ndarray.dtype), array_cls)
    if not ndarray.flags["C_CONTIGUOUS"]:
        raise ValueError("from_numpy: only C-contiguous arrays can share their memory; pass zero_copy=False")
    x = NDArray(torch.from_numpy(ndarray))
    ndarray.setflags(write=False)
    return _in_class(x, array_cls)


def _in_class(x: NDArray, cls: type[NDArray]) -> NDArray:
    return x if cls is NDArray else cls(x)


def from_dlpack(dlpack: Any) -> NDArray:
    """An NDArray on another library's memory."""
    return NDArray(torch.from_dlpack(dlpack))


def to_dlpack_for_read(data: NDArray) -> Any:
    """The array as a DLPack capsule."""
    return torch.utils.dlpack.to_dlpack(data.tensor)


to_dlpack_for_write = to_dlpack_for_read


def arange(
    start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool | None = None,
    ctx: Context | None = None, dtype: Any = np.float32,
) -> NDArray:  # fmt: skip
    """The numbers from `start` up to, and without, `stop`, each `repeat` times."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise MXNetError("arange: step: expected another number than 0")
    n = max(0, int(np.ceil((stop - start) / step)))
    context = Context(ctx) if ctx is not None else current_context()
    kind = torch_dtype(dtype, "arange: dtype")
    if not kind.is_floating_point:  # integers step by integers, as in NumPy
        start, step = int(start), int(step)
    working = torch.float32 if kind == torch.float32 else torch.float64  # rounded as the original does
    t = torch.arange(n, dtype=working) * torch.tensor(step, dtype=working) + torch.tensor(start, dtype=working)
    t = t.repeat_interleave(repeat) if repeat != 1 else t
    return _on(NDArray(t.to(device=context.torch_device, dtype=kind)), context)


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: Any = np.float32
) -> NDArray:
    """`num` numbers at equal distances from `start` to `stop`, which is left out unless `endpoint`."""
    values = np.linspace(start, stop, num, endpoint=endpoint)
    return array(values, ctx=ctx, dtype=dtype)


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None, **kwargs) -> NDArray:
    """N x M zeros (N x N unless M is given) with ones on diagonal k."""
    x = array(np.eye(int(N), int(M) or int(N), int(k)), ctx=ctx, dtype=dtype)
    out = kwargs.get("out")
    return x if out is None else out._take(x)


for _function, _alias in ((zeros, "_zeros"), (ones, "_ones"), (full, "_full"), (arange, "_arange"), (eye, "_eye")):
    register(_function, (_alias,), inputs="")
