"""Remainder."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Fmod(_native.NativeFunction):
    op = "fmod"
    label = "fmod"

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x", "divisor"))
        type_check.expect(
            in_types[0].dtype == in_types[1].dtype,
            in_types[0].dtype.kind == "f",
            in_types[1].dtype.kind == "f",
        )


fmod = frontend.bind(
    "fmod", lambda x, divisor: Fmod().apply((x, divisor))[0], module=__name__,
    doc="Element-wise remainder of the division, with the sign of `x`, as numpy.fmod.",
)  # fmt: skip
