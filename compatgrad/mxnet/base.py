"""Errors and names that all of mxnet shares."""

from __future__ import annotations

import numpy as np

__all__ = ["MXNetError", "NotImplementedForSymbol", "NotSupportedForSparseNDArray"]

string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
mx_real_t = np.float32
mx_uint = int


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
        return f"{self.function}{also} is not there for {self._kind}; arguments: {', '.join(self.args)}"


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
