"""Exponential minus one."""

from compatgrad.chainer.functions import _native


class Expm1(_native.NamedElementwise):
    op = "expm1"


expm1 = _native.unary(Expm1, doc="Element-wise exp(x) - 1.")
