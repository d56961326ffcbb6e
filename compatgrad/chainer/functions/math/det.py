"""Determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array.broadcast import broadcast_to
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math import _linear_algebra
from compatgrad.chainer.functions.math.inv import batch_inv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class BatchDet(_linear_algebra.SquareMatrixFunction):
    documented = "batch_det"
    ndim = 3
    argument = "x"
    label = "det"

    def _compute(self, linalg, x):
        return linalg.det(x)

    def backward(self, indexes: Sequence[int], grad_outputs: Sequence[Variable | None]) -> tuple[Variable | None, ...]:
        (x,) = self.get_retained_inputs()
        (y,) = self.get_retained_outputs()
        gy = broadcast_to((grad_outputs[0] * y)[:, None, None], x.shape)
        return (gy * transpose(batch_inv(x), (0, 2, 1)),)


def batch_det(a: VariableOrArray) -> Variable:
    """The determinants of matrices.

    Args:
        a: floating, (n, m, m), n matrices.

    Returns:
        Variable (n,) of the dtype of `a`.

    Raises:
        chainer.utils.type_check.InvalidType: `a` is not floating-point or not square.

    Example:
        >>> F.batch_det(np.array([[[1.0, 2.0], [3.0, 4.0]]])).array.round(6)
        array([-2.])

    Source: `chainer.functions.batch_det` of Chainer 7.8.1.
    """
    return BatchDet().apply((a,))[0]


def det(a: VariableOrArray) -> Variable:
    """The determinant of a matrix.

    Args:
        a: floating, (m, m); axes of length 1 may follow, as in the weight of a 1x1 convolution.

    Returns:
        Variable () of the dtype of `a`.

    Raises:
        IndexError: `a` has fewer than 2 axes.
        chainer.utils.type_check.InvalidType: `a` is not floating-point or not square.

    Example:
        >>> F.det(np.array([[1.0, 2.0], [3.0, 4.0]]))
        variable(-2.)

    Source: `chainer.functions.det` of Chainer 7.8.1.
    """
    # the weight of a 1x1 convolution has two more axes, of length 1
    return reshape(batch_det(reshape(a, (1, a.shape[0], a.shape[1]))), ())
