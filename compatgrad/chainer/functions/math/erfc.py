"""Complementary error function."""

from compatgrad.chainer.functions import _native

Erfc, erfc = _native.unary(
    "Erfc", "1 - erf(x), element-wise, exact where it is small.", "[0.0, 10.0]", "[1.00000000e+00, 2.08848758e-45]"
)
