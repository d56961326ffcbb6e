"""Exchange of two axes."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

_transpose = frontend.bind("transpose", dtype="any")


class Swapaxes(_native.NativeFunction):
    op = None

    def __init__(self, axis1, axis2):
        super().__init__()
        self.axis1 = axis1
        self.axis2 = axis2

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)

    def _run_bound(self, inputs):
        (x,) = inputs
        axes = list(range(x.ndim))
        axes[self.axis1], axes[self.axis2] = axes[self.axis2], axes[self.axis1]
        return _transpose._apply_as(self, x, axes)


def swapaxes(x, axis1, axis2):
    """`x` with `axis1` and `axis2` exchanged."""
    return Swapaxes(axis1, axis2).apply((x,))[0]
