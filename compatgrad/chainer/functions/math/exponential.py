"""Exponentials and logarithms."""

from compatgrad.chainer.functions import _native


class Exp(_native.NamedElementwise):
    op = "exp"


class Log(_native.NamedElementwise):
    op = "log"


class Log2(_native.NamedElementwise):
    op = "log2"


class Log10(_native.NamedElementwise):
    op = "log10"


exp = _native.unary(Exp, "exp", "Element-wise exponential.")
log = _native.unary(Log, "log", "Element-wise natural logarithm.")
log2 = _native.unary(Log2, "log2", "Element-wise logarithm to base 2.")
log10 = _native.unary(Log10, "log10", "Element-wise logarithm to base 10.")
