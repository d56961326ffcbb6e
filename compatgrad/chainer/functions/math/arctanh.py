"""Inverse hyperbolic tangent."""

from compatgrad.chainer.functions import _native


class Arctanh(_native.Elementwise):
    op = "arctanh"


arctanh = _native.unary(Arctanh, doc="Element-wise inverse hyperbolic tangent.")
