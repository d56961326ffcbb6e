"""Logarithm of one plus a number."""

from compatgrad.chainer.functions import _native


class Log1p(_native.NamedElementwise):
    op = "log1p"


log1p = _native.unary(Log1p, doc="Element-wise log(1 + x).")
