"""Products of sparse and dense matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad import _C
from compatgrad.chainer import backend, utils
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.functions.array.cast import cast, promoted
from compatgrad.chainer.functions.array.expand_dims import expand_dims
from compatgrad.chainer.functions.array.swapaxes import swapaxes
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import DType, VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class CooMatMul(_native.NativeFunction):
    """The node of `chainer.functions.sparse_matmul` in the graph, its result's `creator`.

    It multiplies a sparse matrix, given by its entries, with a dense one.

    Args:
        sp_row: int, the rows of the entries: (k,) or, of a batch, (n, k); -1 for padding.
        sp_col: their columns.
        sp_shape: of the sparse matrix.
        sp_order: the order of the entries, the attribute of `CooMatrix`; it has no effect here.
        transa: True transposes the sparse matrix.
        transb: True transposes the dense one.
        transc: True transposes the result.
        dtype: of the result; None: the dtype to which NumPy promotes the inputs.

    Raises:
        ValueError: shapes of `sp_row`, `sp_col` and `sp_shape` do not fit.

    Example:
        >>> node = F.math.sparse_matmul.CooMatMul(np.array([0, 1]), np.array([1, 0]), (2, 2))
        >>> node.apply((np.array([2.0, 3.0]), np.array([[1.0], [4.0]])))[0].array
        array([[8.],
               [3.]])

    Source: `chainer.functions.math.sparse_matmul.CooMatMul` of Chainer 7.8.1.
    """

    def __init__(
        self,
        sp_row: NdArray,
        sp_col: NdArray,
        sp_shape: Sequence[int],
        sp_order: str = "other",
        transa: bool = False,
        transb: bool = False,
        transc: bool = False,
        dtype: DType | None = None,
    ) -> None:
        if sp_row.ndim != sp_col.ndim:
            raise ValueError(f"ndim of sp_row and sp_col must be the same. Actual: {sp_row.ndim} and {sp_col.ndim}")
        if sp_row.ndim not in (1, 2):
            raise ValueError(f"ndim of sp_row and sp_col must be one or two. Actual: {sp_row.ndim}")
        if sp_row.shape != sp_col.shape:
            raise ValueError(f"shape of sp_row and sp_col must be the same. Actual: {sp_row.shape} and {sp_col.shape}")
        if len(sp_shape) != 2:
            raise ValueError(f"len(sp_shape) must be two. Actual: {sp_shape}")
        super().__init__()
        self.sp_row = sp_row
        self.sp_col = sp_col
        self.sp_shape = sp_shape
        self.sp_order = sp_order
        self.transa = transa
        self.transb = transb
        self.transc = transc
        self.dtype = dtype

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("sp", "dn"))
        sp, dn = in_types
        type_check.expect(
            sp.dtype.kind == "f", dn.dtype.kind == "f", dn.ndim >= 2, dn.ndim <= 3, sp.ndim == dn.ndim - 1,
            sp.shape[-1] == self.sp_row.shape[-1],
            self.sp_shape[-2 if self.transa else -1] == dn.shape[-1 if self.transb else -2],
        )  # fmt: skip
        if type_check.eval(dn.ndim) == 3:
            type_check.expect(sp.shape[0] == self.sp_row.shape[0], dn.shape[0] == self.sp_row.shape[0])

    def _run_bound(self, inputs):
        sp, dn = promoted(*inputs)
        dtype = sp.dtype if self.dtype is None else numpy.dtype(self.dtype)
        if sp.dtype == numpy.float16:  # in float32, as many small terms are added
            sp, dn = cast(sp, numpy.float32), cast(dn, numpy.float32)
        xp = backend.get_array_module(sp)
        row, col, rows = self.sp_row, self.sp_col, self.sp_shape[0]
        if self.transa:
            row, col, rows = col, row, self.sp_shape[1]
        if self.transb:
            dn = swapaxes(dn, -1, -2)
        places = xp.nonzero(row >= 0)  # padding entries have row -1, which addition must skip
        factors = _bound.get_item(dn, (*places[:-1], col[places].astype(numpy.intp)))
        terms = _bound.mul(expand_dims(_bound.get_item(sp, places), -1), factors)
        y = xp.zeros((*dn.shape[:-2], rows, dn.shape[-1]), dtype=sp.dtype)
        y = _bound.scatter_add(y, terms, (*places[:-1], row[places].astype(numpy.intp)))
        if self.transc:
            y = swapaxes(y, -1, -2)
        return y if y.dtype == dtype else cast(y, dtype)


def sparse_matmul(
    a: VariableOrArray | utils.CooMatrix,
    b: VariableOrArray | utils.CooMatrix,
    transa: bool = False,
    transb: bool = False,
) -> Variable:
    """Product of a sparse and a dense matrix, or of batches of them.

    Args:
        a: a `chainer.utils.CooMatrix`, or a floating Variable or array, (m, k) or (n, m, k).
        b: the other kind, (k, l) or (n, k, l).
        transa: True transposes `a` first.
        transb: True transposes `b`.

    Returns:
        Variable (m, l) or (n, m, l). The entries of the sparse matrix and the dense one get gradients.

    Raises:
        ValueError: both are sparse, both are dense, or one is none of these.
        chainer.utils.type_check.InvalidType: they are not floating-point, or shapes do not fit.

    Example:
        >>> a = chainer.utils.to_coo(np.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> F.sparse_matmul(a, np.array([[1.0], [4.0]])).array
        array([[8.],
               [3.]])

    Source: `chainer.functions.sparse_matmul` of Chainer 7.8.1.
    """
    dense = (_C.Variable, *backend.get_array_types())
    if isinstance(a, utils.CooMatrix) and isinstance(b, dense):
        return CooMatMul(a.row, a.col, a.shape, a.order, transa, transb).apply((a.data, b))[0]
    if isinstance(a, dense) and isinstance(b, utils.CooMatrix):
        return CooMatMul(b.row, b.col, b.shape, b.order, not transb, not transa, True).apply((b.data, a))[0]
    raise ValueError(f"This combination of type of inputs is not supported.\n    a: {type(a)}\n    b: {type(b)}")
