"""Softmax."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Softmax(_native.NativeFunction):
    op = "softmax"

    def __init__(self, axis=1):
        super().__init__(axis=axis)

    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))
        type_check.expect(-in_types[0].ndim <= self.axis, self.axis < in_types[0].ndim)


softmax = frontend.bind(
    "softmax", lambda x, axis=1: Softmax(axis).apply((x,))[0], module=__name__,
    doc="exp(x) / sum(exp(x)) along `axis`. InvalidType where the axis is out of range.",
)  # fmt: skip
