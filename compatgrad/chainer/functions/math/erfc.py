"""Complementary error function."""

from compatgrad.chainer.functions import _native


class Erfc(_native.NamedElementwise):
    op = "erfc"


erfc = _native.unary(Erfc, doc="Element-wise 1 - erf(x).")
