"""Matrix products."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.functions.array.cast import promoted
from compatgrad.chainer.functions.array.swapaxes import swapaxes
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class MatMul(_native.NativeFunction):
    """The node of `chainer.functions.matmul` in the graph, its result's `creator`.

    Args:
        transa: True swaps the last two axes of `a` first.
        transb: True swaps those of `b`.
        transc: must be False.

    Raises:
        NotImplementedError: `transc` is True.

    Example:
        >>> F.math.matmul.MatMul(transb=True).apply((np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])))[0].array
        array([[11.]])

    Source: `chainer.functions.math.matmul.MatMul` of Chainer 7.8.1.
    """

    op = "matmul"

    def __init__(self, transa: bool = False, transb: bool = False, transc: bool = False) -> None:
        if transc:
            raise NotImplementedError("MatMul: transc=True is not supported; transpose the result")
        super().__init__(transa=transa, transb=transb)

    transa = _native.parameter("transa")
    transb = _native.parameter("transb")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
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


@_native.function(MatMul)
def matmul(a: VariableOrArray, b: VariableOrArray, transa: bool = False, transb: bool = False) -> Variable:
    """Matrix product, as numpy.matmul: of vectors, of matrices, of batches with broadcasting.

    Args:
        a: floating, at least 1 axis: (..., m, k) or a vector (k,).
        b: floating, at least 1 axis: (..., k, n) or a vector (k,).
        transa: True swaps the last two axes of `a` first.
        transb: True swaps those of `b`.

    Returns:
        Variable (..., m, n) of the dtype to which NumPy promotes the inputs; m or n is left out where `a` or `b` is a
        vector.

    Raises:
        TypeError: one of them is neither a Variable nor an array.
        chainer.utils.type_check.InvalidType: they are not floating-point, have no axis, or shapes do not fit.

    Example:
        >>> F.matmul(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), transb=True).array
        array([[11.]])

    Source: `chainer.functions.matmul` of Chainer 7.8.1.
    """
    return MatMul(transa, transb).apply((a, b))[0]


class BatchMatMul(_native.NativeFunction):
    documented = "batch_matmul"

    def __init__(self, transa: bool = False, transb: bool = False) -> None:
        super().__init__()
        self.transa = transa
        self.transb = transb

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("a", "b"))
        sizes = []
        for t, axis in zip(in_types, (1 if self.transa else 2, 2 if self.transb else 1), strict=True):
            type_check.expect(t.dtype == numpy.float32, t.ndim >= 2, t.ndim <= 3)
            sizes.append(1 if axis == 2 and type_check.eval(t.ndim) == 2 else t.shape[axis])
        type_check.expect(sizes[0] == sizes[1])

    def _run_bound(self, inputs):
        a, b = [x if x.ndim == 3 else _bound.reshape(x, (*x.shape, 1)) for x in inputs]
        return MatMul._bound._apply_as(
            self, swapaxes(a, 1, 2) if self.transa else a, swapaxes(b, 1, 2) if self.transb else b
        )


def batch_matmul(a: VariableOrArray, b: VariableOrArray, transa: bool = False, transb: bool = False) -> Variable:
    """Products of the matrices of two batches. Deprecated: `matmul` does it.

    Args:
        a: float32, (n, m, k), or (n, k) as columns.
        b: float32, (n, k, l), or (n, k) as columns.
        transa: True swaps the last two axes of `a` first.
        transb: True swaps those of `b`.

    Returns:
        Variable (n, m, l), float32.

    Raises:
        chainer.utils.type_check.InvalidType: they are not float32, or shapes do not fit.

    Example:
        >>> a = np.float32([[[1, 2]]])
        >>> F.batch_matmul(a, a, transb=True).array
        array([[[5.]]], dtype=float32)

    Source: `chainer.functions.batch_matmul` of Chainer 7.8.1.
    """
    warnings.warn("batch_matmul is deprecated. Use matmul instead.", DeprecationWarning, stacklevel=2)
    return BatchMatMul(transa, transb).apply((a, b))[0]
