"""Hyperbolic functions."""

from compatgrad.chainer.functions import _native

Cosh, cosh = _native.unary("Cosh", "Hyperbolic cosine, element-wise.", "[0.0, 1.0]", "[1.        , 1.54308063]")
Sinh, sinh = _native.unary("Sinh", "Hyperbolic sine, element-wise.", "[0.0, 1.0]", "[0.        , 1.17520119]")
