"""Contrastive loss."""

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.activation.relu import relu
from compatgrad.chainer.functions.array.where import where
from compatgrad.chainer.functions.math.sqrt import sqrt
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check


class Contrastive(_composed.ComposedFunction):
    def __init__(self, margin, reduce="mean"):
        super().__init__()
        if margin <= 0:
            raise ValueError(f"margin should be positive value. Actual: {margin}")
        _composed.check_reduce(reduce, "mean", "no")
        self.margin = margin
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x0", "x1", "y"))
        x0, x1, y = in_types
        type_check.expect(
            x0.dtype.kind == "f",
            x0.dtype == x1.dtype,
            y.dtype.kind == "i",
            x0.shape == x1.shape,
            x1.shape[0] == y.shape[0],
            x1.shape[0] > 0,
            x0.ndim == 2,
            y.ndim == 1,
        )

    def compose(self, x0, x1, y):
        same = y.array.astype(x0.dtype)
        square = _sum((x0 - x1) ** 2, axis=1)
        apart = square.array > 0
        # The distance 0 has no gradient; that of the root would be infinite.
        distance = sqrt(where(apart, square, square.xp.ones_like(square.array))) * apart
        loss = (same * square + (1 - same) * relu(self.margin - distance) ** 2) * 0.5
        return loss if self.reduce == "no" else _sum(loss) / len(x0)


def contrastive(x0, x1, y, margin=1, reduce="mean"):
    """Loss of the distance d between rows of x0 and x1 (N, K): d² / 2 where y (N,) is 1, max(margin - d, 0)²
    / 2 where 0.

    `reduce`: "mean" or "no". ValueError for another or for a margin that is not positive, InvalidType where
    shapes or dtypes do not fit. Hadsell et al. 2006.
    """
    return Contrastive(margin, reduce).apply((x0, x1, y))[0]
