"""Cross entropy of sigmoid."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.utils import type_check


class SigmoidCrossEntropy(_native.NativeFunction):
    op = "sigmoid_cross_entropy"
    ignore_label = -1

    def __init__(self, normalize=True, reduce="mean"):
        _composed.check_reduce(reduce, "mean", "no")
        super().__init__(normalize=normalize, reduce=reduce)

    normalize = property(lambda self: self.op_params["normalize"])
    reduce = property(lambda self: self.op_params["reduce"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x", "t"))
        x, t = in_types
        type_check.expect(x.dtype.kind == "f", t.dtype.kind == "i", x.shape == t.shape)


def _checked(x, t, normalize, reduce):
    return SigmoidCrossEntropy(normalize, reduce).apply((x, t))[0]


_sigmoid_cross_entropy = frontend.bind("sigmoid_cross_entropy", _checked)


def sigmoid_cross_entropy(x, t, normalize=True, reduce="mean"):
    """-log(sigmoid(x)) where the label t is 1, -log(1 - sigmoid(x)) where it is 0, and 0 where it is -1.

    `reduce="mean"`: the mean over the labels that are not -1 (`normalize`), or the sum over the batch's size;
    "no": one loss per label; ValueError for another. Raises InvalidType where t is not of integers or has
    another shape.
    """
    if x.shape != t.shape or t.dtype.kind != "i":
        return _checked(x, t, normalize, reduce)
    return _sigmoid_cross_entropy(x, t, normalize, reduce)
