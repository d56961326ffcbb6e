"""Separation along an axis."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Separate(_native.NativeFunction):
    op = "unstack"

    def __init__(self, axis=0):
        super().__init__(axis=axis)

    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        if self.axis >= 0:
            type_check.expect(self.axis < in_types[0].ndim)
        else:
            type_check.expect(-self.axis <= in_types[0].ndim)


_unstack = frontend.bind("unstack", lambda x, axis: Separate(axis).apply((x,)), dtype="any")


def separate(x, axis=0):
    """A tuple of the slices of `x` along `axis`, each without that axis. Inverse of `stack`."""
    ys = _unstack(x, axis)
    return ys if isinstance(ys, tuple) else (ys,)
