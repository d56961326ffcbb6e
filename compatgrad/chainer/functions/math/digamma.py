"""Digamma function."""

from compatgrad.chainer.functions import _native

DiGamma, digamma = _native.unary(
    "DiGamma", "The derivative of `lgamma`, element-wise.", "[1.0, 2.0]", "[-0.57721566,  0.42278434]"
)
