"""Cross entropy of sigmoid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class SigmoidCrossEntropy(_native.NativeFunction):
    op = "sigmoid_cross_entropy"
    ignore_label = -1

    def __init__(self, normalize: bool = True, reduce: str = "mean") -> None:
        _composed.check_reduce(reduce, "mean", "no")
        super().__init__(normalize=normalize, reduce=reduce)

    normalize = _native.parameter("normalize")
    reduce = _native.parameter("reduce")

    @type_check._expects
    def check_type_forward(self, x, t):
        return x.dtype.kind == "f", t.dtype.kind == "i", x.shape == t.shape


def _checked(x, t, normalize, reduce):
    return SigmoidCrossEntropy(normalize, reduce).apply((x, t))[0]


_sigmoid_cross_entropy = frontend.bind("sigmoid_cross_entropy", _checked)


def sigmoid_cross_entropy(
    x: VariableOrArray, t: VariableOrArray, normalize: bool = True, reduce: str = "mean"
) -> Variable:
    """-log(sigmoid(x)) where the label is 1, -log(1 - sigmoid(x)) where it is 0, and 0 where it is -1.

    Args:
        x: floating, any shape: scores.
        t: integers, of the shape of `x`: labels 1, 0, or -1 for those that do not count.
        normalize: True divides by the number of labels that count, False by the length of the first axis.
        reduce: "mean", or "no" for one loss per label.

    Returns:
        Variable of the dtype of `x` and shape (), or the shape of `x` with `reduce="no"`.

    Raises:
        ValueError: `reduce` is neither.
        chainer.utils.type_check.InvalidType: `t` is not of integers or has another shape.

    Example:
        >>> F.sigmoid_cross_entropy(np.array([0.0, 2.0, -5.0]), np.array([1, 0, -1]), reduce="no").array
        array([ 0.69314718,  2.12692801, -0.        ])

    Source: `chainer.functions.sigmoid_cross_entropy` of Chainer 7.8.1.
    """
    if x.shape != t.shape or t.dtype.kind != "i":
        return _checked(x, t, normalize, reduce)
    return _sigmoid_cross_entropy(x, t, normalize, reduce)
