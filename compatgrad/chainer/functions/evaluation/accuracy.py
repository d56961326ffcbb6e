"""Multiclass classification accuracy."""

from compatgrad.chainer import backend, function_node
from compatgrad.chainer.utils import type_check


def expect_labels(in_types):
    """Scores (N, C, …) and labels (N, …); further axes of the scores have length 1."""
    type_check._argname(in_types, ("x", "t"))
    x, t = in_types
    type_check.expect(x.dtype.kind == "f", t.dtype.kind == "i")
    t_ndim = type_check.eval(t.ndim)
    type_check.expect(x.ndim >= t.ndim, x.shape[0] == t.shape[0], x.shape[2 : t_ndim + 1] == t.shape[1:])
    for i in range(t_ndim + 1, type_check.eval(x.ndim)):
        type_check.expect(x.shape[i] == 1)


class Accuracy(function_node.FunctionNode):
    def __init__(self, ignore_label=None):
        self.ignore_label = ignore_label

    def check_type_forward(self, in_types):
        expect_labels(in_types)

    def forward(self, inputs):
        xp = backend.get_array_module(*inputs)
        y, t = inputs
        hits = y.argmax(axis=1).reshape(t.shape) == t
        if self.ignore_label is None:
            return (xp.asarray(hits.mean(dtype=y.dtype)),)
        counted = t != self.ignore_label
        total = int(counted.sum())
        return (xp.asarray(int((hits & counted).sum()) / total if total else 0.0, dtype=y.dtype),)


def accuracy(y, t, ignore_label=None):
    """Share of the rows of `y` (N, C, …) whose largest element is at the label in `t` (N, …), int.

    Labels equal to `ignore_label` do not count. Not differentiable.
    """
    return Accuracy(ignore_label).apply((y, t))[0]
