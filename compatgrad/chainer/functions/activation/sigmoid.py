"""Logistic sigmoid."""

from compatgrad.chainer.functions import _native


class Sigmoid(_native.NativeFunction):
    op = "sigmoid"
    is_elementwise = True

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


sigmoid = _native.unary(Sigmoid, "sigmoid", "1 / (1 + exp(-x)), element-wise.")
