"""Huber loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.functions.loss._pairs import _PairLoss
from compatgrad.chainer.functions.math.sum import sum as _sum

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class HuberLoss(_PairLoss):
    op = "huber_loss"
    reduce = "no"
    _names = ("x", "t")

    def __init__(self, delta: float, reduce: str = "sum_along_second_axis") -> None:
        _composed.check_reduce(reduce, "sum_along_second_axis", "no")
        super().__init__(delta=delta)
        self.reduce = reduce

    delta = _native.parameter("delta")

    def _run_bound(self, inputs):
        y = super()._run_bound(inputs)
        return y if self.reduce == "no" else _sum(y, 1)


_huber_loss = frontend.bind("huber_loss", lambda x, t, delta: HuberLoss(delta, "no").apply((x, t))[0])


def huber_loss(x: VariableOrArray, t: VariableOrArray, delta: float, reduce: str = "sum_along_second_axis") -> Variable:
    """Half the square of x - t where |x - t| <= delta, else delta (|x - t| - delta / 2).

    Args:
        x, t: floating, of one dtype and shape; of two axes or more with the default `reduce`.
        delta: where the loss becomes linear.
        reduce: "sum_along_second_axis" sums over axis 1, "no" returns a loss for each element.

    Returns:
        Variable of the dtype of `x`: without axis 1, or of the shape of `x` with `reduce="no"`.

    Raises:
        ValueError: `reduce` is neither.
        chainer.utils.type_check.InvalidType: shapes or dtypes differ, or `x` is not floating-point.

    Example:
        >>> F.huber_loss(np.array([[0.0, 0.0]]), np.array([[0.5, 3.0]]), delta=1.0, reduce="no").array
        array([[0.125, 2.5  ]])

    Source: `chainer.functions.huber_loss` of Chainer 7.8.1; Huber 1964.
    """
    if x.shape != t.shape or reduce not in ("sum_along_second_axis", "no"):
        return HuberLoss(delta, reduce).apply((x, t))[0]
    y = _huber_loss(x, t, delta)
    return y if reduce == "no" else _sum(y, 1)
