"""Larger of two."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Maximum(_native.NativeFunction):
    op = "maximum"
    is_elementwise = True

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x1", "x2"))
        type_check.expect_broadcast_shapes(in_types[0].shape, in_types[1].shape)


maximum = frontend.bind(
    "maximum", lambda x1, x2: Maximum().apply((x1, x2))[0], module=__name__,
    doc="Element-wise larger one of two Variables or arrays, with broadcasting.",
)  # fmt: skip
