"""Inverse complementary error function."""

from compatgrad.chainer.functions import _native


class ErfcInv(_native.NamedElementwise):
    op = "erfcinv"


erfcinv = _native.unary(ErfcInv, doc="Element-wise inverse of `erfc`.")
