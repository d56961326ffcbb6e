"""Inverse matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.functions.math import _linear_algebra
from compatgrad.chainer.functions.math.matmul import matmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Inv(_linear_algebra.SquareMatrixFunction):
    documented = "inv"

    def _compute(self, linalg, x):
        try:
            return linalg.inv(x)
        except numpy.linalg.LinAlgError as e:
            raise ValueError("Input has singular matrices.") from e

    def backward(self, indexes: Sequence[int], grad_outputs: Sequence[Variable | None]) -> tuple[Variable | None, ...]:
        (y,) = self.get_retained_outputs()
        return (matmul(matmul(-y, grad_outputs[0], transa=True), y, transb=True),)


class BatchInv(Inv):
    documented = "batch_inv"
    ndim = 3


def inv(a: VariableOrArray) -> Variable:
    """The inverse of a matrix.

    Args:
        a: floating, (m, m).

    Returns:
        Variable (m, m) of the dtype of `a`.

    Raises:
        ValueError: `a` is singular.
        chainer.utils.type_check.InvalidType: `a` is not floating-point or not square.

    Example:
        >>> F.inv(np.array([[1.0, 2.0], [0.0, 4.0]])).array
        array([[ 1.  , -0.5 ],
               [ 0.  ,  0.25]])

    Source: `chainer.functions.inv` of Chainer 7.8.1.
    """
    return Inv().apply((a,))[0]


def batch_inv(a: VariableOrArray) -> Variable:
    """The inverses of matrices.

    Args:
        a: floating, (n, m, m), n matrices.

    Returns:
        Variable (n, m, m) of the dtype of `a`.

    Raises:
        ValueError: one of them is singular.
        chainer.utils.type_check.InvalidType: `a` is not floating-point or not square.

    Example:
        >>> F.batch_inv(np.array([[[1.0, 2.0], [0.0, 4.0]]])).array
        array([[[ 1.  , -0.5 ],
                [ 0.  ,  0.25]]])

    Source: `chainer.functions.batch_inv` of Chainer 7.8.1.
    """
    return BatchInv().apply((a,))[0]
