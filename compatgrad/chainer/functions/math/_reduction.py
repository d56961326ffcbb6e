"""Functions that reduce axes."""

import numpy

from compatgrad.chainer.functions import _native


def checked_axis(axis):
    """`axis` as None or a tuple of int.

    TypeError for anything but None, an int or a tuple of them; ValueError for one twice.
    """
    if axis is None:
        return None
    if isinstance(axis, (int, numpy.integer)):
        return (int(axis),)
    if not (isinstance(axis, tuple) and all(isinstance(a, (int, numpy.integer)) for a in axis)):
        raise TypeError(f"axis: None, int or tuple of int are required. Actual: {axis!r}")
    if len(set(axis)) != len(axis):
        raise ValueError(f"duplicate value in axis: ({', '.join(map(str, axis))})")
    return axis


class Reduction(_native.NativeFunction):
    def __init__(self, axis=None, keepdims=False):
        super().__init__(axis=checked_axis(axis), keepdims=keepdims)

    axis = property(lambda self: self.op_params["axis"])
    keepdims = property(lambda self: self.op_params["keepdims"])

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))
        for axis in self.axis or ():
            _native.expect_axis(in_types[0], axis)
