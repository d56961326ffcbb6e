"""Rectified linear unit."""

from compatgrad.chainer.functions import _native


class ReLU(_native.NativeFunction):
    op = "relu"
    is_elementwise = True

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


relu = _native.unary(ReLU, "relu", "max(x, 0), element-wise.")
