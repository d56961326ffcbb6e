"""Inverse complementary error function."""

from compatgrad.chainer.functions import _native

ErfcInv, erfcinv = _native.unary(
    "ErfcInv", "The inverse of `erfc`, element-wise; nan outside [0, 2].", "[1.0, 0.5]", "[-0.        ,  0.47693628]"
)
