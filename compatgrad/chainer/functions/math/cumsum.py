"""Cumulative sums."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Scan(_native.NativeFunction):
    def __init__(self, axis=None):
        if not (isinstance(axis, int) or axis is None):
            raise TypeError(f"axis must be int or None, not {type(axis).__name__}")
        super().__init__(axis=axis)

    axis = property(lambda self: self.op_params["axis"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        type_check.expect(in_types[0].dtype.kind == "f")
        if self.axis is not None:
            _native.expect_axis(in_types[0], self.axis)


class Cumsum(Scan):
    op = "cumsum"


def cumsum(x, axis=None):
    """Sums of the first elements along `axis`; None: of the flattened `x`. TypeError for another axis."""
    return Cumsum(axis).apply((x,))[0]
