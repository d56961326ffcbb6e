"""Errors and names that all of mxnet shares."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["MXNetError", "NotImplementedForSymbol", "NotSupportedForSparseNDArray"]

string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
mx_real_t = np.float32
mx_uint = ctypes.c_uint
mx_float = ctypes.c_float

# the C interface's types, which programs name and the tests of handles read
NDArrayHandle = SymbolHandle = ExecutorHandle = KVStoreHandle = CachedOpHandle = ctypes.c_void_p


class MXNetError(RuntimeError):
    """The exception that operators, arrays and backward passes raise.

    Example:
        >>> nd.ones(2) + nd.ones(3)
        Traceback (most recent call last):
            ...
        compatgrad.mxnet.base.MXNetError: ...

    Source: `mxnet.MXNetError` of MXNet 1.9.1.
    """


class _NotThere(MXNetError):
    """A function was called on a kind of argument that it does not take."""

    _kind = ""

    def __init__(self, function: Any, alias: str | None = None, *args: Any) -> None:
        super().__init__()
        self.function = getattr(function, "__name__", str(function))
        self.alias = alias
        self.args = tuple(type(a).__name__ for a in args)

    def __str__(self) -> str:
        also = f" (or {self.alias})" if self.alias else ""
        arguments = f"; arguments: {', '.join(self.args)}" if self.args else ""
        return f"{self.function}{also} is not supported for {self._kind}{arguments}"


class NotImplementedForSymbol(_NotThere):
    """A function of arrays was called on a symbol.

    Args:
        function: the function, or its name.
        alias: another name of it, such as that of the operator's sign; None for none.
        *args: the arguments that it was called with; their types are shown.

    Example:
        >>> print(mx.base.NotImplementedForSymbol("asnumpy", None, mx.sym.var("x")))
        asnumpy is not supported for symbols; arguments: Symbol

    Source: `mxnet.base.NotImplementedForSymbol` of MXNet 1.9.1.
    """

    _kind = "symbols"


class NotSupportedForSparseNDArray(_NotThere):
    """A function of dense arrays was called on a sparse one.

    Args:
        function: the function, or its name.
        alias: another name of it; None for none.
        *args: the arguments that it was called with; their types are shown.

    Example:
        >>> print(mx.base.NotSupportedForSparseNDArray("reshape", None, (2, 3)))
        reshape is not supported for sparse arrays; arguments: tuple

    Source: `mxnet.base.NotSupportedForSparseNDArray` of MXNet 1.9.1.
    """

    _kind = "sparse arrays"


class _NullType:
    """Stands for an argument that was left out."""

    def __repr__(self) -> str:
        return "_Null"


_Null = _NullType()


def py_str(x: bytes | str) -> str:
    """The text of bytes in UTF-8.

    Args:
        x: bytes, or anything else, of which the result is `str(x)`.

    Returns:
        The text.

    Raises:
        UnicodeDecodeError: the bytes are no UTF-8.

    Example:
        >>> mx.base.py_str(b"conv0_weight")
        'conv0_weight'

    Source: `mxnet.base.py_str` of MXNet 1.9.1.
    """
    return x.decode("utf-8") if isinstance(x, bytes) else str(x)


def c_str(string: str) -> ctypes.c_char_p:
    """A C string of a text, in UTF-8.

    Args:
        string: the text.

    Returns:
        A `ctypes.c_char_p`.

    Raises:
        AttributeError: `string` is no str.

    Example:
        >>> mx.base.c_str("data").value
        b'data'

    Source: `mxnet.base.c_str` of MXNet 1.9.1.
    """
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings: Sequence[str]) -> ctypes.Array:
    """An array of C strings, in UTF-8.

    Args:
        strings: the texts.

    Returns:
        An array of `ctypes.c_char_p`.

    Raises:
        AttributeError: an element is no str.

    Example:
        >>> list(mx.base.c_str_array(["data", "label"]))
        [b'data', b'label']

    Source: `mxnet.base.c_str_array` of MXNet 1.9.1.
    """
    return (ctypes.c_char_p * len(strings))(*[s.encode("utf-8") for s in strings])


def c_array(ctype: Any, values: Sequence[Any]) -> ctypes.Array:
    """An array of C values.

    Args:
        ctype: the type of `ctypes` of each element.
        values: the values.

    Returns:
        An array of `ctypes` of that type.

    Raises:
        TypeError: a value does not fit the type.

    Example:
        >>> list(mx.base.c_array(mx.base.mx_uint, [2, 3]))
        [2, 3]

    Source: `mxnet.base.c_array` of MXNet 1.9.1.
    """
    return (ctype * len(values))(*values)


class _NoLibrary:
    """Stands for libmxnet.so, which is not here: every function of it raises."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise MXNetError(f"{name}: there is no libmxnet.so here; use the Python interface instead of base._LIB")


_LIB = _NoLibrary()


def check_call(ret: int) -> None:
    """Checks the status that a function of a C interface returned.

    Args:
        ret: the status; 0 is success.

    Raises:
        MXNetError: `ret` is not 0.

    Example:
        >>> mx.base.check_call(0)

    Source: `mxnet.base.check_call` of MXNet 1.9.1.
    """
    if ret != 0:
        raise MXNetError(f"a function of the C interface returned {ret}")


def _as_list(obj):
    """`obj` if it is a list or tuple, else a list of it."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def data_dir_default() -> str:
    """The default folder for downloaded files: `.mxnet` in the user's home, unless the environment sets another one.

    Returns:
        The path.

    Example:
        >>> import os
        >>> os.path.basename(mx.base.data_dir_default())
        '.mxnet'

    Source: `mxnet.base.data_dir_default` of MXNet 1.9.1.
    """
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """The folder of files that programs download: the environment variable MXNET_HOME, or `.mxnet` in the user's home.

    Returns:
        The path.

    Example:
        >>> import os
        >>> mx.base.data_dir() == os.getenv("MXNET_HOME", mx.base.data_dir_default())
        True

    Source: `mxnet.base.data_dir` of MXNet 1.9.1.
    """
    return os.getenv("MXNET_HOME", data_dir_default())
