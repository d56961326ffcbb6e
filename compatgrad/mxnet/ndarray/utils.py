"""Arrays to and from files in MXNet's binary format, and arrays from sources of any storage type."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import torch

from compatgrad.formats.params import FILE_OF_ONE, Stored, dense, write_array

from ..base import MXNetError
from ..context import cpu, gpu, num_gpus
from ..util import is_np_shape, np_shape
from ._creation import array as _dense_array
from ._creation import empty as _dense_empty
from ._creation import zeros as _dense_zeros
from ._params_file import read_params, write_params
from .ndarray import NDArray
from .sparse import BaseSparseNDArray, _is_scipy, _wrap
from .sparse import array as _sparse_array

__all__ = ["array", "empty", "load", "load_frombuffer", "save", "zeros"]

_MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**34


def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> NDArray:
    """A copy of an NDArray, a NumPy array, nested lists, or a sparse NDArray or SciPy matrix, which stays sparse.

    float32 unless `dtype` says otherwise; an NDArray and a SciPy matrix keep their type.
    """
    if isinstance(source_array, BaseSparseNDArray) or _is_scipy(source_array):
        return _sparse_array(source_array, ctx=ctx, dtype=dtype)
    return _dense_array(source_array, ctx=ctx, dtype=dtype)


def zeros(shape: Any, ctx: Any = None, dtype: Any = None, stype: str | None = None, **kwargs: Any) -> NDArray:
    """Zeros of a storage type, "default" unless given; float32 unless `dtype` says otherwise."""
    return _dense_zeros(shape, ctx=ctx, dtype=dtype, stype=stype, **kwargs)


def empty(shape: Any, ctx: Any = None, dtype: Any = None, stype: str | None = None) -> NDArray:
    """An array of a storage type whose values are whatever the memory holds."""
    return _dense_empty(shape, ctx=ctx, dtype=dtype, stype=stype)


def stored_of(x: NDArray, np_shape: bool = False) -> Stored:
    """What a file keeps of an array."""
    where = (x.context.device_typeid, x.context.device_id)
    if isinstance(x, BaseSparseNDArray):
        return Stored(x.shape, x._values(), x.stype, list(x._indices()), context=where)
    return Stored(x.shape, x.tensor, np_shape=np_shape, context=where)


NOT_NUMPY_SHAPES = "the arrays were not saved under NumPy's shape semantics"


def array_of(a: Stored, wrap: Callable[[Any], NDArray] = NDArray) -> NDArray | None:
    """The array that a file kept, on its GPU where that is there, else on the CPU; None for one that had no value."""
    if a.np_shape and not is_np_shape():
        raise MXNetError(
            "load: the arrays were saved under NumPy's shape semantics; load them with mx.npx.load after "
            "npx.set_np(), or inside `with mx.util.np_shape(True)`"
        )
    if is_np_shape() and not a.np_shape and a.stype == "default":  # a length of 0 meant "unknown" there
        raise MXNetError(
            f"load: {NOT_NUMPY_SHAPES}; load them with mx.nd.load without "
            "npx.set_np(), or inside `with mx.util.np_shape(False)`"
        )
    if a.shape is None or a.data is None:
        return None
    kind, number = a.context
    target = gpu(number) if kind == 2 and 0 <= number < num_gpus() else cpu()
    if a.stype == "default":
        return wrap(a.data.to(target.torch_device))
    needed = math.prod(a.shape) * a.data.dtype.itemsize
    if needed > _MEMORY // 2:
        raise MXNetError(f"load: a {a.stype} array of shape {a.shape} is kept dense here and would need {needed} bytes")
    values = dense(a)
    assert values is not None
    aux = tuple(t.to(torch.int64) for t in a.aux)
    if not aux[0].numel() and a.stype == "csr":
        aux = (torch.zeros(a.shape[0] + 1, dtype=torch.int64), aux[1])
    device = target.torch_device
    return _wrap(values.to(device), a.stype, target, tuple(t.to(device) for t in aux))


def arrays_and_names(who: str, data: Any, kind: type[NDArray]) -> tuple[list[NDArray], list[str]]:
    """The arrays and names that `save` was given; ValueError or TypeError for what cannot be saved."""
    if isinstance(data, kind):
        data = [data]
    if isinstance(data, dict):
        arrays, names = list(data.values()), list(data)
    elif isinstance(data, list):
        arrays, names = data, []
    else:
        raise ValueError(
            f"{who}: data must be an array, a list of arrays or a dict from str to arrays, got {type(data)}"
        )
    for i, x in enumerate(arrays):
        where = f"data[{names[i]!r}]" if names else f"data[{i}]"
        if not isinstance(x, kind):
            raise TypeError(
                f"{who}: only accepts dict str->{kind.__name__} or list of {kind.__name__}; {where}: {type(x)}"
            )
        if x._zero_dim and not kind._zero_dim:
            raise TypeError(f"{who}: {where} is an mxnet.numpy.ndarray; save it with mxnet.npx.save")
    if not all(isinstance(n, str) for n in names):
        raise TypeError(f"{who}: only accepts dict str->{kind.__name__}, got the keys {names}")
    return arrays, names


def named(arrays: Sequence[Any], names: Sequence[str]) -> Any:
    """A dict where there are names, else a list."""
    return dict(zip(names, arrays, strict=True)) if names else list(arrays)


def packed(x: NDArray) -> bytearray:
    """One array in the form of a file, as pickles of the original hold it."""
    out = BytesIO()
    write_array(out, stored_of(x, x._zero_dim))
    return bytearray(out.getvalue())


def unpacked(handle: bytes | bytearray) -> NDArray:
    """The array that `packed` took apart; MXNetError for damaged bytes."""
    ((stored,), _) = read_params(FILE_OF_ONE + bytes(handle) + bytes(8), "a pickled NDArray")
    with np_shape(stored.np_shape):
        x = array_of(stored)
    assert x is not None
    return x


def save(fname: str, data: Any) -> None:
    """Writes an array, a list of arrays or a dict from names to arrays to a file that MXNet reads too.

    Dense and sparse arrays of every type. TypeError or ValueError for anything else.
    """
    arrays, names = arrays_and_names("save", data, NDArray)
    write_params(os.fspath(fname), [stored_of(x, is_np_shape()) for x in arrays], names)


def load(fname: str) -> Any:
    """The list or the dict of arrays in a file that `save` here or in MXNet (of any version) wrote.

    TypeError unless `fname` is a string. MXNetError for a file that is not there or is damaged: it tells where, what
    was expected and what was found.
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise TypeError(f"load: fname required to be a string, got {type(fname)}")
    arrays, names = read_params(os.fspath(fname))
    return named([array_of(a) for a in arrays], names)


def load_frombuffer(buf: bytes | str) -> Any:
    """`load` from the content of a file."""
    if not isinstance(buf, (bytes, bytearray, memoryview, str)):
        raise TypeError(f"load_frombuffer: buf required to be a string or bytes, got {type(buf)}")
    arrays, names = read_params(buf.encode("latin-1") if isinstance(buf, str) else bytes(buf), "the buffer")
    return named([array_of(a) for a in arrays], names)
