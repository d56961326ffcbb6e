"""Rectified linear unit."""

from compatgrad.chainer.functions import _composed, _native


class ReLU(_native.NativeFunction):
    op = "relu"
    is_elementwise = True

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


class ReLUGrad2(_composed.ComposedFunction):
    """Of `gy`: what `relu` gives back where its output is `b`, an array."""

    def __init__(self, b):
        super().__init__()
        self.b = b

    def compose(self, gy):
        return gy * (self.b > 0).astype(gy.dtype)


relu = _native.unary(ReLU, "relu", "max(x, 0), element-wise.")
