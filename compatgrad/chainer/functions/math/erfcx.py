"""Scaled complementary error function."""

from compatgrad.chainer.functions import _native


class Erfcx(_native.NamedElementwise):
    op = "erfcx"


erfcx = _native.unary(Erfcx, doc="Element-wise exp(x * x) * erfc(x).")
