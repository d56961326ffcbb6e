"""Losses of two inputs of one shape."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class _PairLoss(_native.NativeFunction):
    _names = ("x0", "x1")

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, self._names)
        type_check.expect(in_types[0].shape == in_types[1].shape)
