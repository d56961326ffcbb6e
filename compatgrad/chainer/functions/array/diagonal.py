"""Diagonals."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Diagonal(_native.NativeFunction):
    op = "diagonal"

    def __init__(self, offset, axis1, axis2):
        super().__init__(offset=offset, axis1=axis1, axis2=axis2)

    offset = property(lambda self: self.op_params["offset"])
    axis1 = property(lambda self: self.op_params["axis1"])
    axis2 = property(lambda self: self.op_params["axis2"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        type_check.expect(
            max(self.axis1, self.axis2) < in_types[0].ndim, -in_types[0].ndim <= min(self.axis1, self.axis2)
        )


def diagonal(x, offset=0, axis1=0, axis2=1):
    """Diagonals of matrices in `axis1` and `axis2` of `x`, as its last axis; `offset` > 0: to the right."""
    return Diagonal(offset, axis1, axis2).apply((x,))[0]
