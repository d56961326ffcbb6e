"""Determinants."""

from compatgrad.chainer.functions.array.broadcast import broadcast_to
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math._linear_algebra import SquareMatrixFunction
from compatgrad.chainer.functions.math.inv import batch_inv


class BatchDet(SquareMatrixFunction):
    ndim = 3
    argument = "x"
    label = "det"

    def _compute(self, linalg, x):
        return linalg.det(x)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        (y,) = self.get_retained_outputs()
        gy = broadcast_to((grad_outputs[0] * y)[:, None, None], x.shape)
        return (gy * transpose(batch_inv(x), (0, 2, 1)),)


def batch_det(a):
    """The determinant of each matrix of `a` (n, m, m)."""
    return BatchDet().apply((a,))[0]


def det(a):
    """The determinant of the matrix `a` (m, m), or (m, m, 1, ...)."""
    return reshape(batch_det(reshape(a, (1, a.shape[0], a.shape[1]))), ())  # axes of size 1 may follow, as a filter has
