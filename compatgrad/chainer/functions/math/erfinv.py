"""Inverse error function."""

from compatgrad.chainer.functions import _native


class ErfInv(_native.NamedElementwise):
    op = "erfinv"


erfinv = _native.unary(ErfInv, doc="Element-wise inverse of `erf`.")
