"""The classes of sparse arrays, and operators that depend on storage types.

The memory of all arrays is dense. The class and `stype` tell how MXNet would store an array; `indices`, `indptr` and
`data` are computed when they are read. Indices that a program gave, such as those of stored zeros, are kept until the
array is written to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core import notes

from ..base import MXNetError, NotSupportedForSparseNDArray, numeric_types
from ..context import Context
from . import _stored
from ._creation import array as _dense_array
from ._operator import not_an_array, op, operator, operators, register, write
from .ndarray import NDArray, _on

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "add",
    "cast_storage",
    "divide",
    "multiply",
    "retain",
    "subtract",
]


class BaseSparseNDArray(NDArray):
    """Base class of both kinds of sparse arrays.

    Sums, products and comparisons have the storage type that the original gives them. `x[:] = value` is the only
    assignment; `reshape` is not supported.

    Args:
        handle: a torch tensor, whose memory is shared, or an NDArray.
        writable: assignments may change the array.

    Raises:
        TypeError: `handle` is neither; something else than `x[:]` is assigned to.
        mxnet.base.NotSupportedForSparseNDArray: a method of dense arrays only is called.

    Example:
        >>> isinstance(nd.sparse.zeros("csr", (2, 3)), nd.sparse.BaseSparseNDArray)
        True

    Source: `mxnet.nd.sparse.BaseSparseNDArray` of MXNet 1.9.1.
    """

    _pattern: tuple[torch.Tensor, ...] | None = None  # the indices that a program gave
    _as_given: tuple[Any, torch.Tensor] | None = None  # malformed indices, which `check_format` refuses, and values

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self.context}>"

    def _like(self, y: NDArray, keep: bool = True) -> Any:
        """Changes the class of `y`, the new result of an op, to this one."""
        y.__class__ = type(self)
        if keep and self._pattern is not None:
            y._pattern = self._pattern  # type: ignore[attr-defined]
        return y

    # ---- arithmetic: memory as for dense arrays, the class as MXNet's storage rules say
    def __add__(self, other: Any) -> NDArray:
        return _result("add", self, other)

    def __radd__(self, other: Any) -> NDArray:
        return _result("add", other, self)

    def __sub__(self, other: Any) -> NDArray:
        return _result("sub", self, other)

    def __rsub__(self, other: Any) -> NDArray:
        return _result("sub", other, self)

    def __mul__(self, other: Any) -> NDArray:
        return _result("mul", self, other)

    def __rmul__(self, other: Any) -> NDArray:
        return _result("mul", other, self)

    def __truediv__(self, other: Any) -> NDArray:
        return _result("div", self, other)

    def __rtruediv__(self, other: Any) -> NDArray:
        return _result("div", other, self)

    def __iadd__(self, other: Any) -> BaseSparseNDArray:
        return (self + other).copyto(self)

    def __isub__(self, other: Any) -> BaseSparseNDArray:
        return (self - other).copyto(self)

    def __imul__(self, other: Any) -> BaseSparseNDArray:
        return (self * other).copyto(self)

    def __itruediv__(self, other: Any) -> BaseSparseNDArray:
        return (self / other).copyto(self)

    def __neg__(self) -> Any:
        return self._like(super().__neg__())

    def __eq__(self, other: Any) -> Any:
        return _compared("__eq__", self, other)

    def __ne__(self, other: Any) -> Any:
        return _compared("__ne__", self, other)

    def __lt__(self, other: Any) -> Any:
        return _compared("__lt__", self, other)

    def __le__(self, other: Any) -> Any:
        return _compared("__le__", self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared("__gt__", self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared("__ge__", self, other)

    __hash__ = NDArray.__hash__

    # ---- copies keep the storage type
    def copy(self) -> Any:
        """A new array of the same values and storage type."""
        return self._like(super().copy())

    def detach(self) -> Any:
        """The same memory, without history."""
        return self._like(super().detach())

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The array with elements of another type."""
        y = super().astype(dtype, copy)
        return y if y is self else self._like(y)

    def copyto(self, other: Any) -> Any:
        """Copies the values into an array of the same or of dense storage, or into a new one on another device."""
        if isinstance(other, NDArray) and other.stype not in ("default", self.stype):
            raise TypeError(f"copyto does not support destination NDArray stype {other.stype}")
        if other is self:
            warnings.warn("You are attempting to copy an array to itself", RuntimeWarning, stacklevel=2)
            return other
        y = super().copyto(other)
        return y if isinstance(other, NDArray) else self._like(y, keep=False)

    def _write(self, value: NDArray, name: str = "copy") -> NDArray:
        super()._write(value, name)
        self._pattern = value._pattern if type(value) is type(self) else None  # type: ignore[attr-defined]
        return self

    def _take(self, value: NDArray) -> NDArray:
        super()._take(value)
        self._pattern = None
        return self

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """NotSupportedForSparseNDArray: sparse arrays cannot be reshaped."""
        raise NotSupportedForSparseNDArray(self.reshape, None, shape)

    def _at(self, idx: int) -> Any:
        raise NotSupportedForSparseNDArray(self._at, "[idx]", idx)

    def _slice(self, start: int, stop: int) -> Any:
        raise NotSupportedForSparseNDArray(self._slice, None, start, stop)

    def _assign(self, key: Any, value: Any) -> None:
        """`x[:] = value`, the only assignment to sparse arrays."""
        name = type(self).__name__
        if not isinstance(key, slice):
            raise TypeError(f"{name} only supports [:] for assignment, got {key!r}")
        if key != slice(None):
            raise ValueError(f"Assignment with slice is not supported for {name}, only [:]")
        if isinstance(value, NDArray):
            if value is not self:
                value.copyto(self)
        elif isinstance(value, np.ndarray):
            _dense_array(value, dtype=self.dtype).copyto(self)
        elif isinstance(value, numeric_types):
            self._check_writable()
            self.tensor.fill_(value.item() if isinstance(value, np.generic) else value)
            self._pattern = None
        else:
            raise TypeError(f"{name}: type {type(value)} cannot be assigned")

    def __setitem__(self, key: Any, value: Any) -> None:
        self._assign(key, value)

    # ---- what is stored
    def _indices(self) -> tuple[torch.Tensor, ...]:
        raise NotImplementedError

    def _values(self) -> torch.Tensor:
        raise NotImplementedError

    @property
    def data(self) -> NDArray:
        """A copy of the stored values."""
        given = self._as_given
        kept = given is not None and given[0] is self._pattern
        return _on(NDArray(given[1].clone() if kept else self._values()), self.context)

    def _aux_data(self, i: int) -> NDArray:
        return _on(NDArray(self._indices()[i].clone()), self.context)

    @property
    def _num_aux(self) -> int:
        return len(self._indices())

    def check_format(self, full_check: bool = True) -> None:
        """MXNetError if indices are out of order, repeated, or outside of the array.

        Without `full_check`, only the shape of the indices and the beginnings of a csr matrix's rows are checked.
        """
        wrong = malformed(self.stype, self.shape, self._indices(), full_check)
        if wrong:
            raise MXNetError(f"check_format: a {self.stype} array of shape {self.shape}: {wrong}")


def malformed(stype: str, shape: Any, indices: tuple[torch.Tensor, ...], full: bool = True) -> str:
    """Describe the first fault in the indices of a sparse array; empty if there is none."""
    places = indices[-1]
    rising = places.diff() > 0
    if stype == "csr":
        begin = indices[0]
        if len(begin) != shape[0] + 1:
            return f"indptr must have {shape[0] + 1} elements, not {len(begin)}"
        if int(begin[0]) != 0 or bool((begin.diff() < 0).any()) or int(begin[-1]) != len(places):
            return f"indptr must rise from 0 to the number of indices, {len(places)}"
        first = begin[(begin > 0) & (begin < len(places))]
        rising[first - 1] = True  # the first index of a row may be smaller than the last one of the row before
    limit = shape[1] if stype == "csr" else shape[0]
    if full and places.numel() and (int(places.min()) < 0 or int(places.max()) >= limit):
        return f"indices must be in 0..{limit - 1}"
    return "indices must rise" if full and not bool(rising.all()) else ""


class CSRNDArray(BaseSparseNDArray):
    """A matrix in the format "compressed sparse row".

    Row i has the values `data[indptr[i]:indptr[i + 1]]` in the columns `indices[indptr[i]:indptr[i + 1]]`. Programs
    make one by `csr_matrix` or `tostype("csr")`.

    Args:
        handle: a torch tensor, whose memory is shared, or an NDArray.
        writable: assignments may change the array.

    Raises:
        ValueError, IndexError: it is indexed by something else than a row or a slice of rows.

    Example:
        >>> x = nd.sparse.csr_matrix(([5.0, 6.0], ([0, 1], [2, 0])), shape=(2, 3))
        >>> x.indptr.asnumpy(), x.indices.asnumpy()
        (array([0, 1, 2]), array([2, 0]))

    Source: `mxnet.nd.sparse.CSRNDArray` of MXNet 1.9.1.
    """

    stype = "csr"

    def _indices(self) -> tuple[torch.Tensor, ...]:
        """indptr and indices."""
        if self._pattern is not None:
            return self._pattern
        t = self.tensor.detach()
        filled = t != 0
        indptr = torch.zeros(t.shape[0] + 1, dtype=torch.int64, device=t.device)
        torch.cumsum(filled.sum(1), 0, out=indptr[1:])
        return indptr, filled.nonzero()[:, 1].contiguous()

    def _values(self) -> torch.Tensor:
        indptr, indices = self._indices()
        rows = torch.repeat_interleave(torch.arange(self.shape[0], device=indptr.device), indptr.diff())
        return self.tensor.detach()[rows, indices]

    @property
    def indptr(self) -> NDArray:
        """A copy of the places in `indices` where the rows begin, and of the end; int64."""
        return self._aux_data(0)

    @property
    def indices(self) -> NDArray:
        """A copy of the columns of the stored values; int64."""
        return self._aux_data(1)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            raise ValueError("CSRNDArray: indexing of several dimensions is not supported")
        if isinstance(key, int):
            n = self.shape[0]
            if not -n <= key < n:
                raise IndexError(f"CSRNDArray: index {key} is out of bounds for axis 0 with size {n}")
            key = slice(key % n, key % n + 1)
        if not isinstance(key, slice):
            raise ValueError(f"CSRNDArray: expected an integer or a slice, got {key!r}")
        if key.step is not None:
            raise ValueError("CSRNDArray only supports continuous slicing on axis 0")
        if key.start is None and key.stop is None:
            return self
        return self._like(op.copy(NDArray.__getitem__(self, key)), keep=False)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, numeric_types):
            raise ValueError("Assigning numeric types to CSRNDArray is not supported")
        self._assign(key, value)

    def tostype(self, stype: str) -> Any:
        """A copy with the storage type "csr" or "default"; ValueError for "row_sparse"."""
        if stype == "row_sparse":
            raise ValueError("cast_storage from csr to row_sparse is not supported")
        return cast_storage(self, stype)

    def asscipy(self) -> Any:
        """A copy as a scipy.sparse.csr_matrix; ImportError without SciPy."""
        matrix = _scipy("asscipy").csr_matrix
        parts = (self.data.asnumpy(), self.indices.asnumpy(), self.indptr.asnumpy())
        return matrix(parts, shape=self.shape, dtype=self.dtype)


class RowSparseNDArray(BaseSparseNDArray):
    """An array that stores some of its rows: `data[i]` is row `indices[i]`, and the others are zero.

    Programs make one by `row_sparse_array` or `tostype("row_sparse")`; gradients of embeddings are row-sparse too.

    Args:
        handle: a torch tensor, whose memory is shared, or an NDArray.
        writable: assignments may change the array.

    Raises:
        ValueError, TypeError: it is indexed by something else than `[:]`.

    Example:
        >>> x = nd.sparse.row_sparse_array(([[1.0, 2.0]], [1]), shape=(3, 2))
        >>> x.indices.asnumpy(), x.tostype("default").asnumpy()[1]
        (array([1]), array([1., 2.], dtype=float32))

    Source: `mxnet.nd.sparse.RowSparseNDArray` of MXNet 1.9.1.
    """

    stype = "row_sparse"

    def _indices(self) -> tuple[torch.Tensor, ...]:
        if self._pattern is not None:
            return self._pattern
        t = self.tensor.detach()
        return ((t != 0).reshape(t.shape[0], -1).any(1).nonzero()[:, 0],)

    def _values(self) -> torch.Tensor:
        return self.tensor.detach()[self._indices()[0]]

    @property
    def indices(self) -> NDArray:
        """A copy of the numbers of the stored rows, in order; int64."""
        return self._aux_data(0)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key == slice(None):
            return self
        if isinstance(key, tuple):
            raise ValueError("RowSparseNDArray: indexing of several dimensions is not supported")
        raise TypeError(f"RowSparseNDArray only supports [:] as index, got {key!r}")

    def tostype(self, stype: str) -> Any:
        """A copy with the storage type "row_sparse" or "default"; ValueError for "csr"."""
        if stype == "csr":
            raise ValueError("cast_storage from row_sparse to csr is not supported")
        return cast_storage(self, stype)

    def retain(self, indices: NDArray) -> Any:
        """A copy with only those rows that `indices` names."""
        return retain(self, indices)


for _class in (BaseSparseNDArray, CSRNDArray, RowSparseNDArray):
    _class.__module__ = f"{__package__}.sparse"  # the module's name in MXNet, as in pickles
_stored.CLASSES.update(csr=CSRNDArray, row_sparse=RowSparseNDArray)


def _scipy(who: str) -> Any:
    try:
        import scipy.sparse
    except ImportError:
        raise ImportError(f"{who} needs SciPy, which is not installed") from None
    return scipy.sparse


def _is_scipy(value: Any) -> bool:
    return type(value).__module__.startswith("scipy.sparse")


def _wrap(t: torch.Tensor, stype: str, context: Context, pattern: tuple[torch.Tensor, ...] | None = None) -> Any:
    notes.note_difference("sparse")
    x = _on(_stored.CLASSES[stype](t), context)
    if pattern is not None:
        x._pattern = pattern  # type: ignore[attr-defined]
    return x


# ---- storage types of results


def cast_storage(data: NDArray, stype: str = "default", out: NDArray | None = None, name: str | None = None) -> Any:
    """A copy with another storage type.

    Args:
        data: any shape and dtype; a matrix for "csr".
        stype: "default", "csr" or "row_sparse".
        out: where the result is written, instead of a new array.
        name: the name of the node in graphs; without effect on arrays.

    Returns:
        NDArray, CSRNDArray or RowSparseNDArray of the shape and dtype of `data`; gradients pass.

    Raises:
        AssertionError: `data` is no NDArray.
        mxnet.base.MXNetError: `stype` has another value, or "csr" of what is no matrix; `out` has another shape.

    Example:
        >>> y = nd.cast_storage(nd.array([[0.0, 2.0], [0.0, 0.0]]), "csr")
        >>> y.data.asnumpy(), y.indices.asnumpy(), y.indptr.asnumpy()
        (array([2.], dtype=float32), array([1]), array([0, 1, 1]))

    Source: `mxnet.nd.cast_storage` of MXNet 1.9.1.
    """
    if not isinstance(data, NDArray):
        raise not_an_array("cast_storage", "data", data)
    if stype not in _stored.CLASSES:
        raise MXNetError(f"cast_storage: stype must be one of {list(_stored.CLASSES)}, got {stype!r}")
    if stype == "csr" and data.ndim != 2:
        raise MXNetError(f"cast_storage: data must have 2 dimensions to become csr, got shape {data.shape}")
    y = op.copy(data)
    y = data._with_context(y)
    if stype != "default":
        notes.note_difference("sparse")
        y.__class__ = _stored.CLASSES[stype]
        if isinstance(data, BaseSparseNDArray):
            y._pattern = data._pattern
    return y if out is None else write(out, y)


register(cast_storage)


_SLOTS = {"add": "__add__", "sub": "__sub__", "mul": "__mul__", "div": "__truediv__"}


def _dense_result(name: str, a: Any, b: Any) -> NDArray:
    if isinstance(a, NDArray):
        return getattr(NDArray, _SLOTS[name])(a, b)
    return getattr(NDArray, _SLOTS[name].replace("__", "__r", 1))(b, a)


def _result(name: str, a: Any, b: Any) -> Any:
    y = _dense_result(name, a, b)
    if y is NotImplemented:
        return y
    return _stored.of_pair(name, y, a, b)


def _compared(slot: str, a: BaseSparseNDArray, b: Any) -> Any:
    """A comparison with a number; the result is sparse where a zero compares as false."""
    y = getattr(NDArray, slot)(a, b)
    if isinstance(b, numeric_types) and not getattr(np.float64(0), slot)(b):
        y = a._like(y, keep=False)
    return y


def _function(name: str, words: str) -> Callable[[Any, Any], Any]:
    def binary(lhs: Any, rhs: Any) -> Any:
        if not isinstance(lhs, NDArray) and not isinstance(rhs, NDArray):
            raise TypeError(f"{words}: expected an array, got {type(lhs)} and {type(rhs)}")
        return _result(name, lhs, rhs)

    binary.__name__ = binary.__qualname__ = words
    binary.__doc__ = (
        f"lhs {words} rhs, with broadcasting; arrays or numbers. The result is sparse where zeros stay zeros."
    )
    return binary


add, subtract = _function("add", "add"), _function("sub", "subtract")
multiply, divide = _function("mul", "multiply"), _function("div", "divide")


def retain(
    data: NDArray, indices: Any = None, out: NDArray | None = None, name: str | None = None, **kwargs: Any
) -> Any:
    """A copy of a row-sparse array with only some of its rows; the others are zero and not stored.

    Args:
        data: a RowSparseNDArray.
        indices: the rows to keep, integers of any dtype.
        out: where the result is written, instead of a new array.
        name: the name of the node in graphs; without effect on arrays.
        **kwargs: there are no others.

    Returns:
        RowSparseNDArray of the shape and dtype of `data`; the gradient of the other rows is 0.

    Raises:
        AssertionError: `indices` is no NDArray.
        mxnet.base.MXNetError: `data` is not row-sparse; a row does not exist; an argument is not known.

    Example:
        >>> x = nd.array([[1.0], [2.0], [3.0]]).tostype("row_sparse")
        >>> y = nd.sparse.retain(x, nd.array([0, 2]))
        >>> y.indices.asnumpy(), y.data.asnumpy().ravel()
        (array([0, 2]), array([1., 3.], dtype=float32))

    Source: `mxnet.nd.sparse.retain` of MXNet 1.9.1.
    """
    if not isinstance(data, RowSparseNDArray):
        raise MXNetError(f"sparse_retain: data must be row_sparse, got {getattr(data, 'stype', type(data))}")
    if kwargs:
        raise MXNetError(f"sparse_retain: unknown arguments {', '.join(kwargs)}")
    if not isinstance(indices, NDArray):
        raise not_an_array("sparse_retain", "indices", indices)
    rows = indices.tensor.detach().to(torch.int64).unique()
    if rows.numel() and (int(rows[0]) < 0 or int(rows[-1]) >= data.shape[0]):
        raise MXNetError(f"sparse_retain: indices must be in 0..{data.shape[0] - 1}, got {rows.tolist()}")
    keep = torch.zeros((data.shape[0],) + (1,) * (data.ndim - 1), dtype=data.tensor.dtype, device=data.tensor.device)
    keep[rows] = 1
    y = data._like(op.mul(data, NDArray(keep)), keep=False)
    y._pattern = (rows,)
    return y if out is None else write(out, y)


register(retain, ("_sparse_retain", "sparse_retain"), inputs="data, indices")


def _where_stored(x: Any) -> torch.Tensor:
    """True where a sparse array has elements."""
    mask = torch.zeros_like(x.tensor, dtype=torch.bool)
    if x.stype == "row_sparse":
        mask[x._indices()[0]] = True
        return mask
    begin, columns = x._indices()
    mask[torch.repeat_interleave(torch.arange(x.shape[0], device=columns.device), begin.diff()), columns] = True
    return mask


def _scattered(y: NDArray, like: Any) -> Any:
    """`y` at the elements that `like` stores; other elements are not stored."""
    zeros = NDArray(torch.zeros_like(y.tensor))
    return like._like(op.where(NDArray(_where_stored(like)), y, zeros))


@operator("lhs, rhs")
def _scatter_elemwise_div(lhs, rhs):
    """lhs / rhs; only the stored rows of a row_sparse lhs are divided."""
    y = op.div(lhs, rhs)
    return _scattered(y, lhs) if lhs.stype == "row_sparse" else y


@operator("data")
def _scatter_plus_scalar(data, scalar=1.0, is_int=True):
    """data + scalar; only the stored elements of a sparse array are changed."""
    y = op.add_scalar(data, value=float(scalar))
    return y if data.stype == "default" else _scattered(y, data)


@operator("data")
def _scatter_minus_scalar(data, scalar=1.0, is_int=True):
    """data - scalar; only the stored elements of a sparse array are changed."""
    y = op.add_scalar(data, value=-float(scalar))
    return y if data.stype == "default" else _scattered(y, data)


def _install_rules() -> None:
    """Has the results of those engine operators that keep zeros get the storage type of the input."""
    for name in _stored.KEEP_ZEROS:
        for found in (operators.get(name), vars(op).get(name)):
            if isinstance(found, _C.Op):
                found.stored = _stored.same


_install_rules()
