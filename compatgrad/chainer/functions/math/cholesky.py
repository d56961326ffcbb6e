"""Cholesky decomposition."""

from compatgrad.chainer import backend
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math._linear_algebra import SquareMatrixFunction
from compatgrad.chainer.functions.math.inv import inv
from compatgrad.chainer.functions.math.matmul import matmul


class Cholesky(SquareMatrixFunction):
    label = "cholesky"

    def _compute(self, linalg, a):
        return linalg.cholesky(a)

    def backward(self, indexes, grad_outputs):
        (y,) = self.get_retained_outputs()
        xp = backend.get_array_module(y)
        n, dtype = len(y), y.dtype
        lower = xp.tri(n, dtype=dtype) - 0.5 * xp.eye(n, dtype=dtype)
        y_inv = inv(y)
        s = matmul(matmul(y_inv, lower * matmul(y, grad_outputs[0], transa=True), transa=True), y_inv)
        return (0.5 * (s + transpose(s)),)


def cholesky(a):
    """The lower triangular L with L L^T = `a`, a symmetric positive definite matrix."""
    return Cholesky().apply((a,))[0]
