"""Logistic sigmoid."""

from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.utils import type_check


class Sigmoid(_native.NativeFunction):
    op = "sigmoid"
    is_elementwise = True

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


class SigmoidGrad(_composed.ComposedFunction):
    """Of `(y, gy)`: the gradient of `sigmoid` by its input, where its output is `y`."""

    def __init__(self, inputs):
        super().__init__()
        self.x = inputs[0]

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("y", "gy"))
        type_check.expect(in_types[0].dtype.kind == "f", in_types[1].dtype.kind == "f")

    def compose(self, y, gy):
        return gy * (y - y * y)


sigmoid = _native.unary(Sigmoid, "sigmoid", "1 / (1 + exp(-x)), element-wise.")
