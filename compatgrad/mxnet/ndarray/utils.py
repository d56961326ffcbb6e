"""Arrays to and from files in MXNet's binary format, and arrays from sources of any storage type."""

from __future__ import annotations

import os
from typing import Any

from ..util import is_np_shape
from ._creation import array as _dense_array
from ._creation import empty as _dense_empty
from ._creation import zeros as _dense_zeros
from ._params_file import array_of, arrays_and_names, named, read_params, stored_of, write_params
from .ndarray import NDArray
from .sparse import BaseSparseNDArray, _is_scipy
from .sparse import array as _sparse_array

__all__ = ["array", "empty", "load", "load_frombuffer", "save", "zeros"]


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
