"""Matrix products."""

import warnings

import numpy

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.cast import promoted
from compatgrad.chainer.functions.array.swapaxes import swapaxes
from compatgrad.chainer.utils import type_check


class MatMul(_native.NativeFunction):
    op = "matmul"

    def __init__(self, transa=False, transb=False, transc=False):
        if transc:
            raise NotImplementedError("MatMul: transc; transpose the result")
        super().__init__(transa=transa, transb=transb)

    transa = property(lambda self: self.op_params["transa"])
    transb = property(lambda self: self.op_params["transb"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("a", "b"))
        a, b = in_types
        type_check.expect(a.dtype.kind == "f", b.dtype.kind == "f", a.ndim >= 1, b.ndim >= 1)
        ndim_a, ndim_b = type_check.eval(a.ndim), type_check.eval(b.ndim)
        axis_a = -2 if self.transa and ndim_a > 1 else -1
        axis_b = -1 if self.transb or ndim_b == 1 else -2
        type_check.expect(a.shape[axis_a] == b.shape[axis_b])
        if ndim_a > 2 and ndim_b > 2:
            type_check.expect_broadcast_shapes(a.shape[:-2], b.shape[:-2])

    def _run_bound(self, inputs):
        return self._bound._apply_as(self, *promoted(*inputs), **self.op_params)


_reshape = frontend.bind("reshape", dtype="any")


def _checked(a, b, transa=False, transb=False):
    return MatMul(transa, transb).apply((a, b))[0]


matmul = frontend.bind(
    "matmul",
    _checked,
    module=__name__,
    doc="""Matrix product as numpy.matmul: vectors, matrices, batches with broadcasting.

    `transa` and `transb` swap the last two axes first. Raises InvalidType where shapes do not fit.
    """,
)


class BatchMatMul(_native.NativeFunction):
    op = None

    def __init__(self, transa=False, transb=False):
        super().__init__()
        self.transa = transa
        self.transb = transb

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("a", "b"))
        sizes = []
        for t, axis in zip(in_types, (1 if self.transa else 2, 2 if self.transb else 1), strict=True):
            type_check.expect(t.dtype == numpy.float32, t.ndim >= 2, t.ndim <= 3)
            sizes.append(1 if axis == 2 and type_check.eval(t.ndim) == 2 else t.shape[axis])
        type_check.expect(sizes[0] == sizes[1])

    def _run_bound(self, inputs):
        a, b = [x if x.ndim == 3 else _reshape(x, (*x.shape, 1)) for x in inputs]
        return MatMul._bound._apply_as(
            self, swapaxes(a, 1, 2) if self.transa else a, swapaxes(b, 1, 2) if self.transb else b
        )


def batch_matmul(a, b, transa=False, transb=False):
    """Matrix products of `a[i]` and `b[i]`, float32; vectors count as columns. Deprecated: use `matmul`."""
    warnings.warn("batch_matmul is deprecated. Use matmul instead.", DeprecationWarning, stacklevel=2)
    return BatchMatMul(transa, transb).apply((a, b))[0]
