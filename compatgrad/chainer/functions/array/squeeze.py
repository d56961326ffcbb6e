"""Removal of axes of length 1."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Squeeze(_native.NativeFunction):
    op = "squeeze"

    def __init__(self, axis=None):
        if isinstance(axis, int):
            axis = (axis,)
        elif axis is not None and not (isinstance(axis, tuple) and all(isinstance(a, int) for a in axis)):
            raise TypeError(f"axis must be None, int or tuple of ints. Actual: {axis!r}")
        super().__init__(axis=axis)

    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        for axis in self.axis or ():
            if axis >= 0:
                type_check.expect(axis < in_types[0].ndim)
            else:
                type_check.expect(-in_types[0].ndim <= axis)


_squeeze = frontend.bind("squeeze", lambda x, axis: Squeeze(axis).apply((x,))[0], dtype="any")


def squeeze(x, axis=None):
    """`x` without its axes of length 1, or without those in `axis` (an int, a tuple), all of length 1."""
    for a in (axis,) if isinstance(axis, int) else axis if isinstance(axis, tuple) else ():
        if -x.ndim <= a < x.ndim and x.shape[a] != 1:
            raise ValueError(f"cannot squeeze out axis {a}: its length is {x.shape[a]}, not 1")
    return _squeeze(x, axis)
