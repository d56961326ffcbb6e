"""Error function."""

from compatgrad.chainer.functions import _native


class Erf(_native.NamedElementwise):
    op = "erf"


erf = _native.unary(Erf, doc="Element-wise error function.")
