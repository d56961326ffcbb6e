"""Normalisation by the L2 norm."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native


class NormalizeL2(_native.NativeFunction):
    op = "normalize"

    def __init__(self, eps=1e-5, axis=1):
        super().__init__(eps=eps, axis=(axis,) if isinstance(axis, int) else axis)

    eps = property(lambda self: self.op_params["eps"])
    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


normalize = frontend.bind(
    "normalize", lambda x, eps=1e-5, axis=1: NormalizeL2(eps, axis).apply((x,))[0], module=__name__,
    doc="`x / (norm + eps)`, the L2 norm over `axis` (an int or a tuple). The gradient at zero is finite.",
)  # fmt: skip
