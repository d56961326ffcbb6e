"""A new axis of length 1."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class ExpandDims(_native.NativeFunction):
    op = "expand_dims"

    def __init__(self, axis):
        super().__init__(axis=int(axis))

    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        if self.axis >= 0:
            type_check.expect(in_types[0].ndim >= self.axis)
        else:
            type_check.expect(in_types[0].ndim >= -self.axis - 1)


expand_dims = frontend.bind(
    "expand_dims", lambda x, axis: ExpandDims(axis).apply((x,))[0], dtype="any", module=__name__,
    doc="`x` with a new axis of length 1 at position `axis`. InvalidType where the position is out of range.",
)  # fmt: skip
