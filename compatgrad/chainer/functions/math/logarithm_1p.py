"""Logarithm of one plus a number."""

from compatgrad.chainer.functions import _native

Log1p, log1p = _native.unary(
    "Log1p", "log(1 + x), element-wise, exact for small `x`.", "[1e-10, 1.0]", "[1.00000000e-10, 6.93147181e-01]"
)
