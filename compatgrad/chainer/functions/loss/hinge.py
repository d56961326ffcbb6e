"""Hinge loss."""

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.activation.relu import relu
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check


class Hinge(_composed.CallableFunction):
    def __init__(self, norm="L1", reduce="mean"):
        super().__init__()
        if norm not in ("L1", "L2"):
            raise NotImplementedError(f"norm should be either 'L1' or 'L2'. Actual: {norm!r}")
        _composed.check_reduce(reduce, "mean", "no")
        self.norm = norm
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x", "t"))
        x, t = in_types
        type_check.expect(x.dtype.kind == "f", t.dtype.kind == "i", x.ndim == 2, t.ndim == 1, x.shape[0] == t.shape[0])

    def compose(self, x, t):
        sign = x.xp.ones_like(x.array)
        sign[x.xp.arange(len(x)), t.array] = -1
        loss = relu(1 + sign * x)
        if self.norm == "L2":
            loss = loss**2
        return loss if self.reduce == "no" else _sum(loss) / len(x)


def hinge(x, t, norm="L1", reduce="mean"):
    """One-versus-rest hinge loss of x (N, K) and labels t (N,): max(0, 1 - x) for the label, max(0, 1 + x)
    for others.

    `norm`: "L1", or "L2" for their squares, else NotImplementedError. `reduce`: "mean", the sum over N, or
    "no", one loss per element; ValueError for another. InvalidType where shapes or dtypes do not fit.
    """
    return Hinge(norm, reduce)(x, t)
