"""Softplus."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native


class Softplus(_native.NativeFunction):
    op = "softplus"
    is_elementwise = True

    def __init__(self, beta=1.0):
        super().__init__(beta=float(beta))

    beta = property(lambda self: self.op_params["beta"])

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


softplus = frontend.bind(
    "softplus", lambda x, beta=1.0: Softplus(beta).apply((x,))[0], name="softplus", module=__name__,
    doc="log(1 + exp(beta * x)) / beta, element-wise.",
)  # fmt: skip
