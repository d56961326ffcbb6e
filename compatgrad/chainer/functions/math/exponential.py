"""Exponentials and logarithms."""

from compatgrad.chainer.functions import _native

Exp, exp = _native.unary("Exp", "e to the power of `x`, element-wise.", "[0.0, 1.0]", "[1.        , 2.71828183]")
Log, log = _native.unary(
    "Log", "Natural logarithm, element-wise; nan for negative elements.", "[1.0, 10.0]", "[0.        , 2.30258509]"
)
Log2, log2 = _native.unary(
    "Log2", "Logarithm to base 2, element-wise; nan for negative elements.", "[1.0, 8.0]", "[0., 3.]"
)
Log10, log10 = _native.unary(
    "Log10", "Logarithm to base 10, element-wise; nan for negative elements.", "[1.0, 100.0]", "[0., 2.]"
)
