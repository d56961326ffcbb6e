"""Cholesky decomposition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math import _linear_algebra
from compatgrad.chainer.functions.math.inv import inv
from compatgrad.chainer.functions.math.matmul import matmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Cholesky(_linear_algebra.SquareMatrixFunction):
    documented = "cholesky"
    label = "cholesky"

    def _compute(self, linalg, a):
        return linalg.cholesky(a)

    def backward(self, indexes: Sequence[int], grad_outputs: Sequence[Variable | None]) -> tuple[Variable | None, ...]:
        (y,) = self.get_retained_outputs()
        xp = backend.get_array_module(y)
        n, dtype = len(y), y.dtype
        lower = xp.tri(n, dtype=dtype) - 0.5 * xp.eye(n, dtype=dtype)
        y_inv = inv(y)
        s = matmul(matmul(y_inv, lower * matmul(y, grad_outputs[0], transa=True), transa=True), y_inv)
        return (0.5 * (s + transpose(s)),)


def cholesky(a: VariableOrArray) -> Variable:
    """The lower triangular matrix L with L L^T = `a`; its gradient is that of symmetric matrices.

    Args:
        a: floating, (m, m), symmetric and positive definite; the part above the diagonal is not read.

    Returns:
        Variable (m, m) of the dtype of `a`.

    Raises:
        numpy.linalg.LinAlgError: `a` is not positive definite.
        chainer.utils.type_check.InvalidType: `a` is not floating-point or not square.

    Example:
        >>> F.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).array
        array([[2., 0.],
               [1., 2.]])

    Source: `chainer.functions.cholesky` of Chainer 7.8.1.
    """
    return Cholesky().apply((a,))[0]
