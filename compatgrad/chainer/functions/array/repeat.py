"""Repetition of elements."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Repeat(_native.NativeFunction):
    op = "repeat"

    def __init__(self, repeats, axis=None):
        if isinstance(repeats, int):
            repeats = (repeats,)
        elif not (isinstance(repeats, tuple) and all(isinstance(n, int) for n in repeats)):
            raise TypeError(f"repeats must be int or tuple of ints. Actual: {repeats!r}")
        if not all(n >= 0 for n in repeats):
            raise ValueError(f"all elements in repeats must be zero or larger. Actual: {repeats}")
        if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
            raise TypeError(f"axis must be int or None, not {type(axis).__name__}")
        super().__init__(repeats=repeats, axis=axis)

    repeats = property(lambda self: self.op_params["repeats"])
    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))


def repeat(x, repeats, axis=None):
    """Each element of `x` repeated, as numpy.repeat does; `axis` None: of the flattened `x`.

    `repeats`: an int, or a tuple with one per element of `axis`. TypeError for other kinds, ValueError for
    negative numbers.
    """
    return Repeat(repeats, axis).apply((x,))[0]
