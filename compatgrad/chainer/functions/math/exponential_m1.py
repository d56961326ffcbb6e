"""Exponential minus one."""

from compatgrad.chainer.functions import _native

Expm1, expm1 = _native.unary(
    "Expm1", "exp(x) - 1, element-wise, exact for small `x`.", "[1e-10, 1.0]", "[1.00000000e-10, 1.71828183e+00]"
)
