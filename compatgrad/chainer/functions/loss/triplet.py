"""Triplet loss."""

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.activation.relu import relu
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check


class Triplet(_composed.ComposedFunction):
    def __init__(self, margin, reduce="mean"):
        super().__init__()
        if margin <= 0:
            raise ValueError(f"margin should be positive value. Actual: {margin}")
        _composed.check_reduce(reduce, "mean", "no")
        self.margin = margin
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("anchor", "positive", "negative"))
        anchor = in_types[0]
        type_check.expect(anchor.dtype.kind == "f")
        for other in in_types[1:]:
            type_check.expect(anchor.dtype == other.dtype, anchor.shape == other.shape)
        type_check.expect(anchor.shape[0] > 0)

    def compose(self, anchor, positive, negative):
        near, far = (anchor - positive) ** 2, (anchor - negative) ** 2
        loss = relu(_sum(near - far, axis=1) + self.margin)
        return loss if self.reduce == "no" else _sum(loss) / len(anchor)


def triplet(anchor, positive, negative, margin=0.2, reduce="mean"):
    """max(|anchor - positive|² - |anchor - negative|² + margin, 0) of the rows of three arrays (N, K).

    `reduce`: "mean" or "no". ValueError for another or for a margin that is not positive, InvalidType where
    shapes or dtypes differ.
    """
    return Triplet(margin, reduce).apply((anchor, positive, negative))[0]
