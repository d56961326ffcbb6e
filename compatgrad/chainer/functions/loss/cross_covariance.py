"""Cross covariance penalty."""

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check


def covariance(y, z):
    """Covariance of the columns of y (N, K) and z (N, L): (K, L)."""
    y, z = (v - average(v, axis=0, keepdims=True) for v in (y, z))
    return matmul(y, z, transa=True) / len(y)


def reduced(matrix, reduce):
    return matrix if reduce == "no" else _sum(matrix**2) * 0.5


class CrossCovariance(_composed.ComposedFunction):
    def __init__(self, reduce="half_squared_sum"):
        super().__init__()
        _composed.check_reduce(reduce, "half_squared_sum", "no")
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("y", "z"))
        y, z = in_types
        type_check.expect(y.dtype.kind == "f", y.dtype == z.dtype, y.ndim == 2, z.ndim == 2, y.shape[0] == z.shape[0])

    def compose(self, y, z):
        return reduced(covariance(y, z), self.reduce)


def cross_covariance(y, z, reduce="half_squared_sum"):
    """Half the sum of squares of the covariance of y (N, K) and z (N, L); with `reduce="no"` the covariance
    (K, L).

    ValueError for another `reduce`, InvalidType where shapes or dtypes do not fit. Cheung et al. 2014.
    """
    return CrossCovariance(reduce).apply((y, z))[0]
