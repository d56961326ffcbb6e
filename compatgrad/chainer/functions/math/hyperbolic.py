"""Hyperbolic functions."""

from compatgrad.chainer.functions import _native


class Cosh(_native.NamedElementwise):
    op = "cosh"


class Sinh(_native.NamedElementwise):
    op = "sinh"


cosh = _native.unary(Cosh, doc="Element-wise hyperbolic cosine.")
sinh = _native.unary(Sinh, doc="Element-wise hyperbolic sine.")
