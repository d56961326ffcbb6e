"""Inverse matrices."""

from compatgrad.chainer.functions.math._linear_algebra import SquareMatrixFunction
from compatgrad.chainer.functions.math.matmul import matmul


class Inv(SquareMatrixFunction):
    def _compute(self, linalg, x):
        return linalg.inv(x)

    def backward(self, indexes, grad_outputs):
        (y,) = self.get_retained_outputs()
        return (matmul(matmul(-y, grad_outputs[0], transa=True), y, transb=True),)


class BatchInv(Inv):
    ndim = 3


def inv(a):
    """The inverse of the matrix `a`. ValueError where it is singular, InvalidType where it is not square."""
    return Inv().apply((a,))[0]


def batch_inv(a):
    """The inverse of each matrix of `a` (n, m, m). ValueError where one is singular."""
    return BatchInv().apply((a,))[0]
