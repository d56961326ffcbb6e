"""Accuracy of binary classification."""

from compatgrad.chainer import backend, function
from compatgrad.chainer.utils import type_check


class BinaryAccuracy(function.Function):
    ignore_label = -1

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x", "t"))
        x, t = in_types
        type_check.expect(x.dtype.kind == "f", t.dtype.kind == "i", t.shape == x.shape)

    def forward(self, inputs):
        xp = backend.get_array_module(*inputs)
        y, t = inputs
        counted = xp.maximum(1, (t != self.ignore_label).sum())
        return (xp.asarray(((y >= 0) == t).sum() / counted, dtype=y.dtype),)


def binary_accuracy(y, t):
    """Share of the elements of `y` whose sign agrees with the labels `t`, 0 or 1; -1 does not count.

    Not differentiable.
    """
    return BinaryAccuracy()(y, t)
