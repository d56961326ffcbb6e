"""Hyperbolic tangent."""

from compatgrad.chainer.functions import _composed, _native


class Tanh(_native.NativeFunction):
    op = "tanh"
    is_elementwise = True

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


class TanhGrad(_composed.ComposedFunction):
    """Of `(y, gy)`: the gradient of `tanh` by its input, where its output is `y`."""

    def __init__(self, x):
        super().__init__()
        self.x = x

    def compose(self, y, gy):
        return gy * (1 - y * y)


tanh = _native.unary(Tanh, "tanh", "Element-wise hyperbolic tangent.")
