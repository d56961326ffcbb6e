"""`save` and `load` for MXNet's binary format, and functions that create arrays of any storage type."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..context import Context
from ..util import is_np_shape
from ._creation import array as _dense_array
from ._creation import empty as _dense_empty
from ._creation import zeros as _dense_zeros
from ._params_file import array_of, arrays_and_names, named, read_params, stored_of, write_params
from .ndarray import NDArray
from .sparse import BaseSparseNDArray, _is_scipy
from .sparse import array as _sparse_array

if TYPE_CHECKING:
    from .._typing import Dtype, Shape

__all__ = ["array", "empty", "load", "load_frombuffer", "save", "zeros"]


def array(source_array: Any, ctx: Context | None = None, dtype: Dtype | None = None) -> NDArray:
    """A copy of an array, which keeps its storage type, of nested lists or of a number.

    Args:
        source_array: an NDArray, a NumPy array, a torch tensor, a SciPy matrix (a CSRNDArray then), a number, or nested
            lists.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is that of an NDArray or a SciPy matrix, else float32.

    Returns:
        NDArray, CSRNDArray or RowSparseNDArray with the values of `source_array`.

    Raises:
        TypeError: `source_array` has something else than numbers, or `dtype` is no dtype.

    Example:
        >>> nd.array([[1, 2], [3, 4]]).asnumpy()
        array([[1., 2.],
               [3., 4.]], dtype=float32)
        >>> nd.array(nd.sparse.zeros("csr", (2, 2))).stype
        'csr'

    Source: `mxnet.nd.array` of MXNet 1.9.1.
    """
    if isinstance(source_array, BaseSparseNDArray) or _is_scipy(source_array):
        return _sparse_array(source_array, ctx=ctx, dtype=dtype)
    return _dense_array(source_array, ctx=ctx, dtype=dtype)


def zeros(
    shape: Shape, ctx: Context | None = None, dtype: Dtype | None = None, stype: str | None = None, **kwargs: Any
) -> NDArray:
    """Zeros of a storage type.

    Args:
        shape: the lengths of all axes, or the only one; two of them for "csr".
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is float32.
        stype: the storage type, "default" (None), "csr" or "row_sparse".
        **kwargs: `out` and `name`, as in `nd.zeros`.

    Returns:
        NDArray, CSRNDArray or RowSparseNDArray of `shape`.

    Raises:
        TypeError: `shape` has no integers, or `dtype` is no dtype.
        ValueError: `stype` is "csr" and the array no matrix.
        mxnet.base.MXNetError: `shape` is refused as by `nd.zeros`; `stype` has another value; an argument is not known.

    Example:
        >>> nd.utils.zeros((2, 3), stype="csr").stype
        'csr'

    Source: `mxnet.nd.utils.zeros` of MXNet 1.9.1.
    """
    return _dense_zeros(shape, ctx=ctx, dtype=dtype, stype=stype, **kwargs)


def empty(shape: Shape, ctx: Context | None = None, dtype: Dtype | None = None, stype: str | None = None) -> NDArray:
    """An array of a storage type with uninitialized values; a sparse one stores none.

    Args:
        shape: the lengths of all axes, or the only one; two of them for "csr".
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is float32.
        stype: the storage type, "default" (None), "csr" or "row_sparse".

    Returns:
        NDArray, CSRNDArray or RowSparseNDArray of `shape`.

    Raises:
        TypeError: `shape` has no integers, or `dtype` is no dtype.
        ValueError: `stype` is "csr" and the array no matrix.
        mxnet.base.MXNetError: a length is negative, or `stype` has another value.

    Example:
        >>> nd.utils.empty((2, 3)).shape
        (2, 3)

    Source: `mxnet.nd.utils.empty` of MXNet 1.9.1.
    """
    return _dense_empty(shape, ctx=ctx, dtype=dtype, stype=stype)


def save(fname: str | os.PathLike[str], data: NDArray | list[NDArray] | dict[str, NDArray]) -> None:
    """Writes arrays to a file that MXNet reads too.

    Args:
        fname: the path of the file.
        data: an NDArray, a list of them, or a dict from names to them; dense and sparse ones of every dtype.

    Raises:
        TypeError: `fname` is no path; an element of `data` is no array, or a name is no string.
        ValueError: `data` is something else.
        mxnet.base.MXNetError: the file cannot be written.

    Example:
        >>> nd.save("weights.params", {"w": nd.array([1.0, 2.0])})
        >>> nd.load("weights.params")["w"].asnumpy()
        array([1., 2.], dtype=float32)

    Source: `mxnet.nd.save` of MXNet 1.9.1.
    """
    arrays, names = arrays_and_names("save", data, NDArray)
    write_params(os.fspath(fname), [stored_of(x, is_np_shape()) for x in arrays], names)


def load(fname: str | os.PathLike[str]) -> list[NDArray] | dict[str, NDArray]:
    """The arrays in a file that `save`, here or in MXNet of any version, wrote.

    Args:
        fname: the path of the file.

    Returns:
        A dict from names to NDArrays; where they were saved without names, a list. Each is on its GPU where that is
        there, else on the CPU.

    Raises:
        TypeError: `fname` is no path.
        mxnet.base.MXNetError: the file is missing, or damaged, with the place; the arrays need `mx.util.np_shape()`.

    Example:
        >>> nd.save("arrays.params", [nd.array([1.0]), nd.array([2.0, 3.0])])
        >>> [x.asnumpy().tolist() for x in nd.load("arrays.params")]
        [[1.0], [2.0, 3.0]]

    Source: `mxnet.nd.load` of MXNet 1.9.1.
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise TypeError(f"load: fname required to be a string, got {type(fname)}")
    arrays, names = read_params(os.fspath(fname))
    return named([array_of(a, name=os.fspath(fname)) for a in arrays], names)


def load_frombuffer(buf: bytes | str) -> list[NDArray] | dict[str, NDArray]:
    """The arrays in the content of a file, as `load` finds them.

    Args:
        buf: the content of the file.

    Returns:
        A dict from names to NDArrays; where they were saved without names, a list.

    Raises:
        TypeError: `buf` is neither bytes nor a string.
        mxnet.base.MXNetError: it is damaged, with the place; the arrays need `mx.util.np_shape()`.

    Example:
        >>> nd.save("arrays.params", [nd.array([1.0])])
        >>> with open("arrays.params", "rb") as f:
        ...     arrays = nd.load_frombuffer(f.read())
        >>> arrays[0].asnumpy()
        array([1.], dtype=float32)

    Source: `mxnet.nd.load_frombuffer` of MXNet 1.9.1.
    """
    if not isinstance(buf, (bytes, bytearray, memoryview, str)):
        raise TypeError(f"load_frombuffer: buf required to be a string or bytes, got {type(buf)}")
    arrays, names = read_params(buf.encode("latin-1") if isinstance(buf, str) else bytes(buf), "the buffer")
    return named([array_of(a) for a in arrays], names)
