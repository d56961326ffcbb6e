"""Reversal of columns."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

_flip = frontend.bind("flip", dtype="any")


class FlipLR(_native.NativeFunction):
    op = None

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("a",))
        type_check.expect(in_types[0].dtype.kind == "f", in_types[0].ndim >= 2)

    def _run_bound(self, inputs):
        return _flip._apply_as(self, inputs[0], (1,))


def fliplr(a):
    """`a` with axis 1 reversed; it must be floating and have at least 2 axes."""
    return FlipLR().apply((a,))[0]
