"""Cross covariance penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _covariance(y, z):
    """Covariance of the columns of y (N, K) and z (N, L): (K, L)."""
    y, z = (v - average(v, axis=0, keepdims=True) for v in (y, z))
    return matmul(y, z, transa=True) / len(y)


def _reduced(matrix, reduce):
    return matrix if reduce == "no" else _sum(matrix**2) * 0.5


class CrossCovariance(_composed.ComposedFunction):
    documented = "cross_covariance"

    def __init__(self, reduce: str = "half_squared_sum") -> None:
        super().__init__()
        _composed.check_reduce(reduce, "half_squared_sum", "no")
        self.reduce = reduce

    @type_check._expects
    def check_type_forward(self, y, z):
        return y.dtype.kind == "f", y.dtype == z.dtype, y.ndim == 2, z.ndim == 2, y.shape[0] == z.shape[0]

    def compose(self, y: Variable, z: Variable) -> Variable:
        return _reduced(_covariance(y, z), self.reduce)


def cross_covariance(y: VariableOrArray, z: VariableOrArray, reduce: str = "half_squared_sum") -> Variable:
    """Half the sum of squares of the covariance between the columns of two arrays.

    Args:
        y: floating, (n, k): n samples.
        z: of the dtype of `y`, (n, l).
        reduce: "half_squared_sum", or "no" for the covariance itself.

    Returns:
        Variable of the dtype of `y` and shape (), or (k, l) with `reduce="no"`.

    Raises:
        ValueError: `reduce` has another value.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> y, z = np.array([[1.0], [3.0]]), np.array([[0.0, 1.0], [2.0, 1.0]])
        >>> F.cross_covariance(y, z, reduce="no").array
        array([[1., 0.]])
        >>> F.cross_covariance(y, z).array
        array(0.5)

    Source: `chainer.functions.cross_covariance` of Chainer 7.8.1; Cheung et al. 2014.
    """
    return CrossCovariance(reduce).apply((y, z))[0]
