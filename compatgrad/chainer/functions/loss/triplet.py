"""Triplet loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.activation.relu import relu
from compatgrad.chainer.functions.array.broadcast import broadcast_to
from compatgrad.chainer.functions.loss import _margin
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Triplet(_margin.MarginLoss):
    documented = "triplet"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("anchor", "positive", "negative"))
        anchor = in_types[0]
        type_check.expect(anchor.dtype.kind == "f")
        for other in in_types[1:]:
            type_check.expect(anchor.dtype == other.dtype, anchor.shape == other.shape)
        type_check.expect(anchor.shape[0] > 0)

    def compose(self, anchor: Variable, positive: Variable, negative: Variable) -> Variable:
        near, far = (anchor - positive) ** 2, (anchor - negative) ** 2
        loss = relu(_sum(near - far, axis=1) + self.margin)
        self._costs = loss.array > 0
        return self._reduced(loss)

    def backward(self, target_input_indexes: Sequence[int], grad_outputs: Sequence[Variable]) -> tuple[Variable, ...]:
        return _composed.unobserved(lambda: self._gradients(target_input_indexes, grad_outputs[0]))

    def _gradients(self, targets: Sequence[int], gy: Variable) -> tuple[Variable, ...]:
        """Differences of the inputs: those of `anchor - positive` and `anchor - negative` lose the digits of both if
        the anchor is far from them.
        """
        anchor, positive, negative = self.get_retained_inputs()
        rows = gy[:, None] if self.reduce == "no" else gy / len(anchor)
        costs = self._costs[:, None].astype(anchor.dtype)
        factor = broadcast_to(rows, anchor.shape) * broadcast_to(2 * costs, anchor.shape)
        pairs = ((negative, positive), (positive, anchor), (anchor, negative))
        return tuple([factor * (pairs[i][0] - pairs[i][1]) for i in targets])


def triplet(
    anchor: VariableOrArray,
    positive: VariableOrArray,
    negative: VariableOrArray,
    margin: float = 0.2,
    reduce: str = "mean",
) -> Variable:
    """max(|anchor - positive|² - |anchor - negative|² + margin, 0) of the rows of three arrays.

    Args:
        anchor, positive, negative: floating, of one dtype, (n, k): vectors, vectors that should be near them, and
            vectors that should be far.
        margin: positive: the smallest difference of squared distances whose loss is 0.
        reduce: "mean" over the rows, or "no" for one loss per row.

    Returns:
        Variable of the dtype of `anchor` and shape (), or (n,) with `reduce="no"`.

    Raises:
        ValueError: `margin` is not positive, or `reduce` is neither.
        chainer.utils.type_check.InvalidType: shapes or dtypes differ, or there is no row.

    Example:
        >>> F.triplet(np.array([[0.0]]), np.array([[0.5]]), np.array([[0.6]])).array
        array(0.09)

    Source: `chainer.functions.triplet` of Chainer 7.8.1; Schroff et al. 2015.
    """
    return Triplet(margin, reduce).apply((anchor, positive, negative))[0]
