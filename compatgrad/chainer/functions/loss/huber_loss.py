"""Huber loss."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.loss._pairs import PairLoss
from compatgrad.chainer.functions.math.sum import sum as _sum


class HuberLoss(PairLoss):
    op = "huber_loss"
    reduce = "no"
    _names = ("x", "t")

    def __init__(self, delta, reduce="sum_along_second_axis"):
        _composed.check_reduce(reduce, "sum_along_second_axis", "no")
        super().__init__(delta=delta)
        self.reduce = reduce

    delta = property(lambda self: self.op_params["delta"])

    def _run_bound(self, inputs):
        y = super()._run_bound(inputs)
        return y if self.reduce == "no" else _sum(y, 1)


_huber_loss = frontend.bind("huber_loss", lambda x, t, delta: HuberLoss(delta, "no").apply((x, t))[0])


def huber_loss(x, t, delta, reduce="sum_along_second_axis"):
    """(x - t) ** 2 / 2 where |x - t| <= delta, else delta (|x - t| - delta / 2), summed over the second axis.

    `reduce="no"`: not summed; ValueError for another. Raises InvalidType where shapes or dtypes differ.
    """
    if x.shape != t.shape or reduce not in ("sum_along_second_axis", "no"):
        return HuberLoss(delta, reduce).apply((x, t))[0]
    y = _huber_loss(x, t, delta)
    return y if reduce == "no" else _sum(y, 1)
