"""An axis moved to another place."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

_transpose = frontend.bind("transpose", dtype="any")


class Rollaxis(_native.NativeFunction):
    op = None

    def __init__(self, axis, start):
        if not isinstance(axis, int):
            raise TypeError(f"axis must be int, not {type(axis).__name__}")
        if not isinstance(start, int):
            raise TypeError(f"start must be int, not {type(start).__name__}")
        super().__init__()
        self.axis = axis
        self.start = start

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        _native.expect_axis(in_types[0], self.axis)
        if self.start >= 0:
            type_check.expect(in_types[0].ndim >= self.start)
        else:
            type_check.expect(in_types[0].ndim > -self.start - 1)

    def _run_bound(self, inputs):
        (x,) = inputs
        axis = self.axis % x.ndim
        start = self.start + x.ndim if self.start < 0 else self.start
        axes = [a for a in range(x.ndim) if a != axis]
        axes.insert(start - (axis < start), axis)
        return _transpose._apply_as(self, x, axes)


def rollaxis(x, axis, start=0):
    """`x` with `axis` moved before the axis `start`, as numpy.rollaxis. TypeError unless both are ints."""
    return Rollaxis(axis, start).apply((x,))[0]
