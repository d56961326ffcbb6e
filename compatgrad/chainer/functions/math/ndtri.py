"""Inverse of the normal distribution function."""

from compatgrad.chainer.functions import _native


class Ndtri(_native.NamedElementwise):
    op = "ndtri"


ndtri = _native.unary(Ndtri, doc="Element-wise inverse of `ndtr`.")
