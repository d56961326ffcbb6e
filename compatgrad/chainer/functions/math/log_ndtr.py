"""Logarithm of the normal distribution function."""

from compatgrad.chainer.functions import _native

LogNdtr, log_ndtr = _native.unary(
    "LogNdtr",
    "log(ndtr(x)), element-wise, exact where `ndtr` underflows.",
    "[0.0, -100.0]",
    "[-6.93147181e-01, -5.00552421e+03]",
    op="log_ndtr",
)
