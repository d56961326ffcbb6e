"""Multiclass classification accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend, function_node
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


def _expect_labels(in_types: type_check.TypeInfoTuple) -> None:
    """Checks scores (N, C, …) and labels (N, …); axes of the scores that the labels lack must have length 1."""
    type_check._argname(in_types, ("x", "t"))
    x, t = in_types
    type_check.expect(x.dtype.kind == "f", t.dtype.kind == "i")
    t_ndim = type_check.eval(t.ndim)
    type_check.expect(x.ndim >= t.ndim, x.shape[0] == t.shape[0], x.shape[2 : t_ndim + 1] == t.shape[1:])
    for i in range(t_ndim + 1, type_check.eval(x.ndim)):
        type_check.expect(x.shape[i] == 1)


class Accuracy(function_node.FunctionNode):
    documented = "accuracy"

    def __init__(self, ignore_label: int | None = None) -> None:
        self.ignore_label = ignore_label

    check_type_forward = staticmethod(_expect_labels)

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        xp = backend.get_array_module(*inputs)
        y, t = inputs
        hits = y.argmax(axis=1).reshape(t.shape) == t
        if self.ignore_label is None:
            return (xp.asarray(hits.mean(dtype=y.dtype)),)
        counted = t != self.ignore_label
        total = int(counted.sum())
        return (xp.asarray(int((hits & counted).sum()) / total if total else 0.0, dtype=y.dtype),)


def accuracy(y: VariableOrArray, t: VariableOrArray, ignore_label: int | None = None) -> Variable:
    """Share of the labels whose class has the highest score. Not differentiable.

    Args:
        y: floating, (n, k, ...): scores of k classes.
        t: integers, (n, ...): labels in [0, k).
        ignore_label: labels of this value are not counted; None counts all.

    Returns:
        Variable of shape () and the dtype of `y`; 0 where no label counts.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> F.accuracy(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1])).array
        array(0.5)

    Source: `chainer.functions.accuracy` of Chainer 7.8.1.
    """
    return Accuracy(ignore_label).apply((y, t))[0]
