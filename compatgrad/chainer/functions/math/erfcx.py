"""Scaled complementary error function."""

from compatgrad.chainer.functions import _native

Erfcx, erfcx = _native.unary("Erfcx", "exp(x * x) * erfc(x), element-wise.", "[0.0, 10.0]", "[1.        , 0.05614099]")
