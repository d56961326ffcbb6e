"""Inverse error function."""

from compatgrad.chainer.functions import _native

ErfInv, erfinv = _native.unary(
    "ErfInv", "The inverse of `erf`, element-wise; nan outside [-1, 1].", "[0.0, 0.5]", "[0.        , 0.47693628]"
)
