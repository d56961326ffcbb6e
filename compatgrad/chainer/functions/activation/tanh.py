"""Hyperbolic tangent."""

from compatgrad.chainer.functions import _native


class Tanh(_native.NativeFunction):
    op = "tanh"
    is_elementwise = True

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


tanh = _native.unary(Tanh, "tanh", "Element-wise hyperbolic tangent.")
