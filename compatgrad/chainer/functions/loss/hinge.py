"""Hinge loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_relu = frontend.bind("relu")


class Hinge(_composed.CallableFunction):
    documented = "hinge"

    def __init__(self, norm: str = "L1", reduce: str = "mean") -> None:
        super().__init__()
        if norm not in ("L1", "L2"):
            raise NotImplementedError(f"norm should be either 'L1' or 'L2'. Actual: {norm!r}")
        _composed.check_reduce(reduce, "mean", "no")
        self.norm = norm
        self.reduce = reduce

    @type_check._expects
    def check_type_forward(self, x, t):
        return x.dtype.kind == "f", t.dtype.kind == "i", x.ndim == 2, t.ndim == 1, x.shape[0] == t.shape[0]

    def compose(self, x: Variable, t: Variable) -> Variable:
        sign = x.xp.ones_like(x.array)
        sign[x.xp.arange(len(x)), t.array] = -1
        loss = _relu(1 + sign * x, rule="slope")  # NaN has the gradient NaN
        if self.norm == "L2":
            loss = loss**2
        return loss if self.reduce == "no" else _sum(loss) / len(x)


def hinge(x: VariableOrArray, t: VariableOrArray, norm: str = "L1", reduce: str = "mean") -> Variable:
    """One-versus-rest hinge loss: max(0, 1 - x) for the score of the label, max(0, 1 + x) for the others.

    Args:
        x: floating, (n, k): scores of k classes for n samples.
        t: integers, (n,): labels in [0, k).
        norm: "L1", or "L2" for the squares.
        reduce: "mean" for the sum over all scores divided by n, "no" for one loss per score.

    Returns:
        Variable of the dtype of `x` and shape (), or (n, k) with `reduce="no"`.

    Raises:
        NotImplementedError: `norm` or `reduce` has another value.
        ValueError: `reduce` is neither.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        IndexError: a label is out of range.

    Example:
        >>> F.hinge(np.array([[2.0, -0.5]]), np.array([0]), reduce="no").array
        array([[0. , 0.5]])

    Source: `chainer.functions.hinge` of Chainer 7.8.1.
    """
    return Hinge(norm, reduce)(x, t)
