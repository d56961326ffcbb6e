"""Reversal along an axis."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


def _flip(array, axis):
    return array[(slice(None),) * (axis % array.ndim) + (slice(None, None, -1),)]


class Flip(_native.NativeFunction):
    op = "flip"

    def __init__(self, axis):
        if not isinstance(axis, int):
            raise TypeError(f"axis must be int, not {type(axis).__name__}")
        super().__init__(axis=(axis,))

    axis = property(lambda self: self.op_params["axis"][0])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        type_check.expect(in_types[0].ndim > 0)
        if self.axis >= 0:
            type_check.expect(in_types[0].ndim > self.axis)
        else:
            type_check.expect(in_types[0].ndim >= -self.axis)


def flip(x, axis):
    """`x` in reverse order along `axis`, an int."""
    return Flip(axis).apply((x,))[0]
