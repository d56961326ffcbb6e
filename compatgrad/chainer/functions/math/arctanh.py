"""Inverse hyperbolic tangent."""

from compatgrad.chainer.functions import _native

Arctanh, arctanh = _native.unary(
    "Arctanh",
    "Inverse hyperbolic tangent, element-wise; nan outside [-1, 1].",
    "[0.0, 0.5]",
    "[0.        , 0.54930614]",
    base=_native.Elementwise,
)
