"""Normal distribution function."""

from compatgrad.chainer.functions import _native


class Ndtr(_native.NamedElementwise):
    op = "ndtr"


ndtr = _native.unary(Ndtr, doc="Element-wise distribution function of the standard normal distribution.")
