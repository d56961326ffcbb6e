"""Leaky rectified linear unit."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native


class LeakyReLU(_native.NativeFunction):
    op = "leaky_relu"
    is_elementwise = True

    def __init__(self, slope=0.2):
        super().__init__(slope=float(slope))

    slope = property(lambda self: self.op_params["slope"])

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


leaky_relu = frontend.bind(
    "leaky_relu", lambda x, slope=0.2: LeakyReLU(slope).apply((x,))[0], name="leaky_relu", module=__name__,
    doc="max(x, slope * x), element-wise.",
)  # fmt: skip
