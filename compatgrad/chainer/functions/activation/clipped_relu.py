"""Clipped rectified linear units."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native


class ClippedReLU(_native.NativeFunction):
    op = "clipped_relu"
    is_elementwise = True

    def __init__(self, z=20.0):
        super().__init__(z=float(z))

    cap = property(lambda self: self.op_params["z"])

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


clipped_relu = frontend.bind(
    "clipped_relu", lambda x, z=20.0: ClippedReLU(z).apply((x,))[0], name="clipped_relu", module=__name__,
    doc="min(max(x, 0), z), element-wise.",
)  # fmt: skip


def relu6(x):
    """min(max(x, 0), 6), element-wise."""
    return clipped_relu(x, 6.0)
