"""Logarithm of the gamma function."""

from compatgrad.chainer.functions import _native


class LGamma(_native.NamedElementwise):
    op = "lgamma"


lgamma = _native.unary(LGamma, doc="Element-wise log(abs(gamma(x))).")
