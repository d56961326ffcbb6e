"""Joining along a new axis."""

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Stack(_native.NativeListFunction):
    op = "stack"

    def __init__(self, axis=0):
        super().__init__(axis=axis)

    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0, -in_types[0].ndim - 1 <= self.axis, self.axis <= in_types[0].ndim)
        for t in in_types[1:]:
            type_check.expect(in_types[0].dtype == t.dtype, in_types[0].shape == t.shape)


_stack = frontend.bind("stack", lambda xs, axis: Stack(axis).apply(xs)[0], dtype="same")


def stack(xs, axis=0):
    """The Variables or arrays `xs`, all of one shape, joined along a new `axis`."""
    return _stack(xs if isinstance(xs, (list, _C.Variable)) else list(xs), axis)
