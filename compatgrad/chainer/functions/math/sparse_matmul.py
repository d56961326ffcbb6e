"""Products of sparse and dense matrices."""

import numpy

from compatgrad import _C
from compatgrad.chainer import backend, utils
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.cast import cast, promoted
from compatgrad.chainer.functions.array.expand_dims import expand_dims
from compatgrad.chainer.functions.array.swapaxes import swapaxes
from compatgrad.chainer.utils import type_check

_get_item = frontend.bind("get_item", dtype="any")
_mul = frontend.bind("mul", dtype="any")
_scatter_add = frontend.bind("scatter_add", dtype="any")


class CooMatMul(_native.NativeFunction):
    """`op(sparse) op(dense)`, transposed where `transc`; the sparse matrix is given by its entries."""

    op = None

    def __init__(
        self, sp_row, sp_col, sp_shape, sp_order="other", transa=False, transb=False, transc=False, dtype=None
    ):
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

    def check_type_forward(self, in_types):
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
        if sp.dtype == numpy.float16:  # many small terms
            sp, dn = cast(sp, numpy.float32), cast(dn, numpy.float32)
        xp = backend.get_array_module(sp)
        row, col, rows = self.sp_row, self.sp_col, self.sp_shape[0]
        if self.transa:
            row, col, rows = col, row, self.sp_shape[1]
        if self.transb:
            dn = swapaxes(dn, -1, -2)
        places = xp.nonzero(row >= 0)  # padding has row -1
        factors = _get_item(dn, (*places[:-1], col[places].astype(numpy.intp)))
        terms = _mul(expand_dims(_get_item(sp, places), -1), factors)
        y = xp.zeros((*dn.shape[:-2], rows, dn.shape[-1]), dtype=sp.dtype)
        y = _scatter_add(y, terms, (*places[:-1], row[places].astype(numpy.intp)))
        if self.transc:
            y = swapaxes(y, -1, -2)
        return y if y.dtype == dtype else cast(y, dtype)


def sparse_matmul(a, b, transa=False, transb=False):
    """Product of a `CooMatrix` and a dense matrix, in either order, or of batches of them.

    `transa` and `transb` transpose. Differentiable by the entries and by the dense matrix. ValueError for
    other combinations.
    """
    dense = (_C.Variable, *backend.get_array_types())
    if isinstance(a, utils.CooMatrix) and isinstance(b, dense):
        return CooMatMul(a.row, a.col, a.shape, a.order, transa, transb).apply((a.data, b))[0]
    if isinstance(a, dense) and isinstance(b, utils.CooMatrix):
        return CooMatMul(b.row, b.col, b.shape, b.order, not transb, not transa, True).apply((b.data, a))[0]
    raise ValueError(f"This combination of type of inputs is not supported.\n    a: {type(a)}\n    b: {type(b)}")
