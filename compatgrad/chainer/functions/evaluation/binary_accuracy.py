"""Accuracy of binary classification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend, function
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class BinaryAccuracy(function.Function):
    documented = "binary_accuracy"
    ignore_label = -1

    @type_check._expects
    def check_type_forward(self, x, t):
        return x.dtype.kind == "f", t.dtype.kind == "i", t.shape == x.shape

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        xp = backend.get_array_module(*inputs)
        y, t = inputs
        counted = xp.maximum(1, (t != self.ignore_label).sum())
        return (xp.asarray(((y >= 0) == t).sum() / counted, dtype=y.dtype),)


def binary_accuracy(y: VariableOrArray, t: VariableOrArray) -> Variable:
    """Share of the labels that agree with the sign of their score. Not differentiable.

    Args:
        y: floating, any shape: scores; 0 counts as positive.
        t: integers, of the shape of `y`: labels 0, 1, or -1 for those that do not count.

    Returns:
        Variable of shape () and the dtype of `y`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> F.binary_accuracy(np.array([0.5, -0.5, 2.0, 1.0]), np.array([1, 1, 1, -1])).array
        array(0.66666667)

    Source: `chainer.functions.binary_accuracy` of Chainer 7.8.1.
    """
    return BinaryAccuracy()(y, t)
