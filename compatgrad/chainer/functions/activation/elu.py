"""Exponential linear unit."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native


class ELU(_native.NativeFunction):
    op = "elu"
    is_elementwise = True

    def __init__(self, alpha=1.0):
        super().__init__(alpha=float(alpha))

    alpha = property(lambda self: self.op_params["alpha"])

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


elu = frontend.bind(
    "elu", lambda x, alpha=1.0: ELU(alpha).apply((x,))[0], name="elu", module=__name__,
    doc="x where positive, else alpha * (exp(x) - 1).",
)  # fmt: skip
