"""Contrastive loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.activation.relu import relu
from compatgrad.chainer.functions.array.where import where
from compatgrad.chainer.functions.loss import _margin
from compatgrad.chainer.functions.math.sqrt import sqrt
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Contrastive(_margin.MarginLoss):
    documented = "contrastive"

    @type_check._expects
    def check_type_forward(self, x0, x1, y):
        return (
            x0.dtype.kind == "f",
            x0.dtype == x1.dtype,
            y.dtype.kind == "i",
            x0.shape == x1.shape,
            x1.shape[0] == y.shape[0],
            x1.shape[0] > 0,
            x0.ndim == 2,
            y.ndim == 1,
        )

    def compose(self, x0: Variable, x1: Variable, y: Variable) -> Variable:
        same = y.array.astype(x0.dtype)
        square = _sum((x0 - x1) ** 2, axis=1)
        apart = square.array != 0  # NaN, too
        # At distance 0 the gradient is set to 0, because that of the square root is infinite.
        distance = sqrt(where(apart, square, square.xp.ones_like(square.array))) * apart
        loss = (same * square + (1 - same) * relu(self.margin - distance) ** 2) * 0.5
        return self._reduced(loss)


def contrastive(
    x0: VariableOrArray, x1: VariableOrArray, y: VariableOrArray, margin: float = 1, reduce: str = "mean"
) -> Variable:
    """Loss of the distance d between rows: half of d² for pairs of one class, of max(margin - d, 0)² for others.

    Args:
        x0, x1: floating, of one dtype, (n, k): n pairs of vectors.
        y: integers, (n,): 1 where the pair is of one class, else 0.
        margin: positive; pairs of different classes that are farther apart cost nothing.
        reduce: "mean" over the pairs, or "no" for one loss per pair.

    Returns:
        Variable of the dtype of `x0` and shape (), or (n,) with `reduce="no"`.

    Raises:
        ValueError: `margin` is not positive, or `reduce` has another value.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit, or there is no pair.

    Example:
        >>> x0, x1 = np.array([[0.0, 0.0], [0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.5]])
        >>> F.contrastive(x0, x1, np.array([1, 0]), reduce="no").array
        array([12.5  ,  0.125])

    Source: `chainer.functions.contrastive` of Chainer 7.8.1; Hadsell et al. 2006.
    """
    return Contrastive(margin, reduce).apply((x0, x1, y))[0]
