"""Logarithm of the normal distribution function."""

from compatgrad.chainer.functions import _native


class LogNdtr(_native.NamedElementwise):
    op = "log_ndtr"


log_ndtr = _native.unary(LogNdtr, doc="Element-wise log(ndtr(x)).")
