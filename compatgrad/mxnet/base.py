"""Errors and names that all of mxnet shares."""

from __future__ import annotations

import ctypes
import os

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
    """What the operators, arrays and passes of MXNet raise."""


class _NotThere(MXNetError):
    """A function was called on a kind of argument that it does not take."""

    _kind = ""

    def __init__(self, function, alias=None, *args):
        super().__init__()
        self.function = getattr(function, "__name__", str(function))
        self.alias = alias
        self.args = tuple(type(a).__name__ for a in args)

    def __str__(self) -> str:
        also = f" (or {self.alias})" if self.alias else ""
        arguments = f"; arguments: {', '.join(self.args)}" if self.args else ""
        return f"{self.function}{also} is not there for {self._kind}{arguments}"


class NotImplementedForSymbol(_NotThere):
    """A function of arrays was called on a symbol."""

    _kind = "symbols"


class NotSupportedForSparseNDArray(_NotThere):
    """A function of dense arrays was called on a sparse one."""

    _kind = "sparse arrays"


class _NullType:
    """Stands for an argument that was left out."""

    def __repr__(self) -> str:
        return "_Null"


_Null = _NullType()


def py_str(x) -> str:
    return x.decode("utf-8") if isinstance(x, bytes) else str(x)


def c_str(string: str) -> ctypes.c_char_p:
    """A C string of `string`."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings) -> ctypes.Array:
    """An array of C strings."""
    return (ctypes.c_char_p * len(strings))(*[s.encode("utf-8") for s in strings])


def c_array(ctype, values) -> ctypes.Array:
    """An array of C values."""
    return (ctype * len(values))(*values)


class _NoLibrary:
    """In the place of libmxnet.so: no function of it is there."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise MXNetError(f"{name}: there is no libmxnet.so here; use the Python interface instead of base._LIB")


_LIB = _NoLibrary()


def check_call(ret: int) -> None:
    """MXNetError where the status `ret` of a C function is not 0."""
    if ret != 0:
        raise MXNetError(f"a function of the C interface returned {ret}")


def _as_list(obj):
    """`obj` where it is a list or tuple, else a list of it."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def data_dir_default() -> str:
    """Where files that programs download lie unless the environment says otherwise: ~/.mxnet."""
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """Where files that programs download lie: the environment variable MXNET_HOME, or ~/.mxnet."""
    return os.getenv("MXNET_HOME", data_dir_default())
