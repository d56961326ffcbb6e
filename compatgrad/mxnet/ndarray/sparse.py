"""`mx.nd.sparse`: functions that create sparse arrays, and the operators that give sparse results."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..base import integer_types, mx_real_t
from ..context import Context, current_context
from ._creation import array as _dense_array
from ._creation import zeros as _dense_zeros
from ._operator import operators
from ._sparse_arrays import BaseSparseNDArray as BaseSparseNDArray
from ._sparse_arrays import CSRNDArray as CSRNDArray
from ._sparse_arrays import RowSparseNDArray as RowSparseNDArray
from ._sparse_arrays import _is_scipy, _wrap, malformed
from ._sparse_arrays import add as add
from ._sparse_arrays import cast_storage as cast_storage
from ._sparse_arrays import divide as divide
from ._sparse_arrays import multiply as multiply
from ._sparse_arrays import retain as retain
from ._sparse_arrays import subtract as subtract
from ._stored import CLASSES
from .ndarray import NDArray, torch_dtype

if TYPE_CHECKING:
    from .._typing import Dtype, Shape

__all__ = ["BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray", "csr_matrix", "row_sparse_array"]


# ---- creation


def _default_dtype(source: Any, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    return source.dtype if isinstance(source, (NDArray, np.ndarray)) or _is_scipy(source) else mx_real_t


def _check_shape(found: Any, wanted: Any) -> None:
    if found and wanted and tuple(found) != tuple(wanted):
        raise ValueError(f"Shape mismatch detected: {tuple(found)} was given, {tuple(wanted)} is wanted")


def _numpy(value: Any, dtype: Any = None) -> np.ndarray:
    if isinstance(value, NDArray):
        return value.asnumpy()
    try:
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError):
        raise TypeError("values must be array like object") from None


def _index(value: Any, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(_numpy(value).astype(np.int64)).to(device)


def _converted(given: Any, shape: Any, stype: str, is_sparse: bool, ctx: Any, dtype: Any) -> Any:
    """A sparse array of a dense one, of NumPy's data or, with `is_sparse`, of an array of the same storage type."""
    _check_shape(given.shape if hasattr(given, "shape") else np.shape(given), shape)
    if is_sparse:
        return array(given, ctx=ctx, dtype=dtype)
    return _dense_array(given, ctx=ctx, dtype=_default_dtype(given, dtype)).tostype(stype)


def csr_matrix(
    arg1: Any, shape: Sequence[int] | None = None, ctx: Context | None = None, dtype: Dtype | None = None
) -> CSRNDArray:
    """A CSRNDArray from an array or from its stored parts, or one of zeros.

    Args:
        arg1: a dense matrix (an array or nested lists), a CSRNDArray or a SciPy matrix; a shape; `(data, indices,
            indptr)`; or `(data, (row, col))`, whose double entries are added.
        shape: rows and columns; None is that of an array, or as large as the indices need.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is that of an array, else float32.

    Returns:
        CSRNDArray of `shape`. Of `(data, indices, indptr)` what lies outside is left out, and only `check_format`
        complains, as in MXNet.

    Raises:
        ValueError: shapes do not fit; rows or columns lie outside of the matrix; it is row-sparse, or another tuple.
        TypeError: values are no numbers.

    Example:
        >>> nd.sparse.csr_matrix(([5.0, 6.0], [2, 0], [0, 1, 2]), shape=(2, 3)).asnumpy()
        array([[0., 0., 5.],
               [6., 0., 0.]], dtype=float32)

    Source: `mxnet.nd.sparse.csr_matrix` of MXNet 1.9.1.
    """
    context = current_context() if ctx is None else ctx
    if not isinstance(arg1, tuple):
        if isinstance(arg1, RowSparseNDArray):
            raise ValueError("csr_matrix: unexpected input type: RowSparseNDArray")
        return _converted(arg1, shape, "csr", isinstance(arg1, CSRNDArray) or _is_scipy(arg1), ctx, dtype)
    if len(arg1) == 2 and not isinstance(arg1[1], tuple):
        _check_shape(arg1, shape)
        return empty("csr", arg1, ctx=ctx, dtype=dtype)
    device = context.torch_device
    if len(arg1) == 2:
        data, (row, col) = arg1
        rows, columns = _index(row, device), _index(col, device)
    elif len(arg1) == 3:
        data, indices, indptr = arg1
        columns, begin = _index(indices, device), _index(indptr, device)
        if columns.dim() != 1 or begin.dim() != 1 or not len(begin):
            raise ValueError("csr_matrix: invalid shape: indices and indptr must have one dimension")
        # as in MXNet, a malformed indptr raises in `check_format` only; here it is brought into a usable form
        begin = begin.clamp(0, len(columns)).cummax(0).values
        rows = torch.repeat_interleave(torch.arange(len(begin) - 1, device=device), begin.diff())
        kept = builtins.slice(int(begin[0]), int(begin[-1]))  # `slice` may be the operator, see __getattr__
    else:
        raise ValueError(f"csr_matrix: unexpected length of input tuple: {len(arg1)}")
    dtype = torch_dtype(_default_dtype(data, dtype))
    values = torch.from_numpy(np.ascontiguousarray(_numpy(data))).to(device=device, dtype=dtype)
    if shape is None:
        if not len(columns):
            raise ValueError("csr_matrix: invalid shape: without entries the shape must be given")
        n = len(arg1[2]) - 1 if len(arg1) == 3 else int(rows.max()) + 1
        shape = (n, int(columns.max()) + 1)
    if values.dim() != 1 or len(shape) != 2 or len(values) != len(columns):
        raise ValueError(
            f"csr_matrix: invalid shape: {tuple(values.shape)} values, {len(columns)} indices, shape {shape}"
        )
    pattern = None
    if len(arg1) == 3 and len(begin) == shape[0] + 1:
        pattern = (_index(arg1[2], device), columns)
    bad = pattern is not None and bool(malformed("csr", shape, pattern))
    given = values
    if bad:
        rows, columns, values = _inside(rows, columns[kept], values[kept], shape[1])
    for what, index, limit in (("row", rows, shape[0]), ("column", columns, shape[1])):
        if len(index) and (int(index.min()) < 0 or int(index.max()) >= limit):
            raise ValueError(f"csr_matrix: a {what} is outside of 0..{limit - 1}")
    dense = torch.zeros(tuple(shape), dtype=dtype, device=device)
    dense.index_put_((rows, columns), values, accumulate=True)
    y = _wrap(dense, "csr", context, pattern)
    if bad:
        y._as_given = (pattern, given)
    return y


def _inside(
    rows: torch.Tensor, columns: torch.Tensor, values: torch.Tensor, width: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The entries whose column is inside of a matrix."""
    inside = (columns >= 0) & (columns < width)
    return rows[inside], columns[inside], values[inside]


def row_sparse_array(
    arg1: Any, shape: Sequence[int] | None = None, ctx: Context | None = None, dtype: Dtype | None = None
) -> RowSparseNDArray:
    """A RowSparseNDArray from an array, from the rows that it stores, or of zeros.

    Args:
        arg1: a dense array (or nested lists) or a RowSparseNDArray; a shape; or `(data, indices)`: rows and their
            numbers.
        shape: the lengths of all axes; None is that of an array, or as large as the indices need.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is that of an array, else float32.

    Returns:
        RowSparseNDArray of `shape`. Rows that lie outside are left out, and only `check_format` complains of them, as
        in MXNet.

    Raises:
        ValueError: shapes do not fit; it is a CSR matrix, or another tuple.
        TypeError: values are no numbers.

    Example:
        >>> nd.sparse.row_sparse_array(([[1.0, 2.0]], [1]), shape=(3, 2)).asnumpy()
        array([[0., 0.],
               [1., 2.],
               [0., 0.]], dtype=float32)

    Source: `mxnet.nd.sparse.row_sparse_array` of MXNet 1.9.1.
    """
    context = current_context() if ctx is None else ctx
    if not isinstance(arg1, tuple):
        if isinstance(arg1, CSRNDArray):
            raise ValueError("row_sparse_array: unexpected input type: CSRNDArray")
        return _converted(arg1, shape, "row_sparse", isinstance(arg1, RowSparseNDArray), ctx, dtype)
    if len(arg1) < 2:
        raise ValueError(f"row_sparse_array: unexpected length of input tuple: {len(arg1)}")
    if all(isinstance(n, integer_types) for n in arg1):
        _check_shape(arg1, shape)
        return empty("row_sparse", arg1, ctx=ctx, dtype=dtype)
    if len(arg1) != 2:
        raise ValueError(f"row_sparse_array: expected (data, indices) or a shape, got a tuple of {len(arg1)}")
    data, indices = arg1
    device = context.torch_device
    rows = _index(indices, device)
    torch_type = torch_dtype(_default_dtype(data, dtype))
    values = torch.from_numpy(np.ascontiguousarray(_numpy(data))).to(device=device, dtype=torch_type)
    if shape is None:
        if not len(rows):
            raise ValueError("row_sparse_array: invalid shape: without rows the shape must be given")
        shape = (int(rows.max()) + 1, *values.shape[1:])
    shape = tuple(shape)
    if rows.dim() != 1 or len(shape) < 2 and not values.dim() or (len(rows) and tuple(values.shape[1:]) != shape[1:]):
        raise ValueError(f"row_sparse_array: invalid shape: values of shape {tuple(values.shape)}, array {shape}")
    if len(rows) != len(values):
        raise ValueError(f"row_sparse_array: {len(values)} rows of values, {len(rows)} indices")
    dense = torch.zeros(shape, dtype=torch_type, device=device)
    inside = (rows >= 0) & (rows < shape[0])
    if len(rows):
        dense[rows[inside]] = values[inside]
    y = _wrap(dense, "row_sparse", context, (rows,))
    if malformed("row_sparse", shape, (rows,)):
        y._as_given = (y._pattern, values)
    return y


def zeros(stype: str, shape: Shape, ctx: Context | None = None, dtype: Dtype | None = None, **kwargs: Any) -> NDArray:
    """Zeros of a storage type.

    Args:
        stype: "default", "csr" or "row_sparse".
        shape: the lengths of all axes, or the only one; two of them for "csr".
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is float32.
        **kwargs: `out` and `name`, as in `nd.zeros`.

    Returns:
        NDArray, CSRNDArray or RowSparseNDArray of `shape`.

    Raises:
        ValueError: `stype` has another value, or "csr" of what is no matrix.
        mxnet.base.MXNetError: `shape` is refused as by `nd.zeros`; an argument is not known.

    Example:
        >>> x = nd.sparse.zeros("row_sparse", (2, 3))
        >>> x.stype, x.indices.shape
        ('row_sparse', (0,))

    Source: `mxnet.nd.sparse.zeros` of MXNet 1.9.1.
    """
    if stype not in CLASSES:
        raise ValueError(f"zeros: unknown storage type {stype}")
    x = _dense_zeros(shape, ctx=ctx, dtype=dtype, **kwargs)
    return x if stype == "default" else x.tostype(stype)


def empty(stype: str, shape: Shape, ctx: Context | None = None, dtype: Dtype | None = None) -> NDArray:
    """An array of a sparse storage type without stored values.

    Args:
        stype: "csr" or "row_sparse".
        shape: the lengths of all axes, or the only one; two of them for "csr".
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is float32.

    Returns:
        CSRNDArray or RowSparseNDArray of `shape`.

    Raises:
        ValueError: `stype` has another value, or "csr" of what is no matrix.
        mxnet.base.MXNetError: `shape` is refused as by `nd.zeros`.

    Example:
        >>> nd.sparse.empty("csr", (2, 3)).asnumpy()
        array([[0., 0., 0.],
               [0., 0., 0.]], dtype=float32)

    Source: `mxnet.nd.sparse.empty` of MXNet 1.9.1.
    """
    if stype not in ("csr", "row_sparse"):
        raise ValueError(f"empty: unknown stype : {stype}")
    return zeros(stype, shape, ctx=ctx, dtype=dtype)


def array(source_array: Any, ctx: Context | None = None, dtype: Dtype | None = None) -> Any:
    """A copy of a sparse array or of a SciPy matrix.

    Args:
        source_array: a CSRNDArray, a RowSparseNDArray or a SciPy matrix, which becomes a CSRNDArray.
        ctx: the device of the result; None is the current one.
        dtype: the dtype of the result; None is that of `source_array`.

    Returns:
        CSRNDArray or RowSparseNDArray of the shape of `source_array`.

    Raises:
        AssertionError: it is a dense NDArray.
        ValueError: it is something else.

    Example:
        >>> nd.sparse.array(nd.sparse.zeros("csr", (2, 3)), dtype="float64").dtype
        <class 'numpy.float64'>

    Source: `mxnet.nd.sparse.array` of MXNet 1.9.1.
    """
    if isinstance(source_array, NDArray):
        assert source_array.stype != "default", "sparse.array: use tostype() to make a dense NDArray sparse"
        y = source_array.astype(_default_dtype(source_array, dtype))
        context = current_context() if ctx is None else ctx
        return y if y.context == context else y.copyto(context)
    if _is_scipy(source_array):
        csr = source_array.tocsr().sorted_indices()
        csr.sum_duplicates()
        return csr_matrix(
            (csr.data, csr.indices, csr.indptr), shape=csr.shape, dtype=_default_dtype(csr, dtype), ctx=ctx
        )
    raise ValueError(
        f"sparse.array: expected a sparse NDArray or a SciPy matrix, got {type(source_array)}; see nd.array"
    )


# ---- the other operators of `mx.nd.sparse`: those of `mx.nd`, whose results are sparse where zeros stay zeros

_OPERATORS = frozenset(
    "abs arcsin arcsinh arctan arctanh cbrt ceil clip degrees expm1 fix floor log1p negative radians relu rint round "
    "sign sin sinh sqrt square tan tanh trunc zeros_like ElementWiseSum Embedding FullyConnected "
    "LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput "
    "adagrad_update adam_update add_n arccos arccosh broadcast_add broadcast_div broadcast_minus broadcast_mul "
    "broadcast_plus broadcast_sub concat cos cosh dot elemwise_add elemwise_div elemwise_mul elemwise_sub exp "
    "ftrl_update gamma gammaln log log10 log2 make_loss mean norm rsqrt sgd_mom_update sgd_update sigmoid slice "
    "stop_gradient sum where".split()
)


def __getattr__(name: str) -> Any:
    if name in _OPERATORS:
        function = operators.get(name)
        if function is not None:
            globals()[name] = function
            return function
    from compatgrad.names.absent import no_attribute

    raise no_attribute(__name__, name)
