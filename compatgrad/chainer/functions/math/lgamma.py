"""Logarithm of the gamma function."""

from compatgrad.chainer.functions import _native

LGamma, lgamma = _native.unary("LGamma", "log(abs(gamma(x))), element-wise.", "[1.0, 5.0]", "[0.        , 3.17805383]")
