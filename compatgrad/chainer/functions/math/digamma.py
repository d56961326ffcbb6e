"""Digamma function."""

from compatgrad.chainer.functions import _native


class DiGamma(_native.NamedElementwise):
    op = "digamma"


digamma = _native.unary(DiGamma, doc="Element-wise derivative of `lgamma`.")
