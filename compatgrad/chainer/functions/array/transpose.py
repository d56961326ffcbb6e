"""Permutation of axes."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Transpose(_native.NativeFunction):
    op = "transpose"

    def __init__(self, axes=None):
        super().__init__(axes=axes)

    axes = property(lambda self: self.op_params["axes"])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1, in_types[0].ndim >= 0)


_transpose = frontend.bind("transpose", lambda x, axes=None: Transpose(axes).apply((x,))[0], dtype="any")


def transpose(x, axes=None):
    """`x` with its axes in the order `axes` (a tuple of int; None reverses them)."""
    return _transpose(x, axes)
