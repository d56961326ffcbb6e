"""Hard sigmoid."""

from compatgrad.chainer.functions import _native


class HardSigmoid(_native.NativeFunction):
    op = "hard_sigmoid"
    is_elementwise = True

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


hard_sigmoid = _native.unary(HardSigmoid, "hard_sigmoid", "clip(0.2 * x + 0.5, 0, 1), element-wise.")
