"""Inverse error function."""

from compatgrad.chainer.functions import _native


class ErfInv(_native.NamedElementwise):
    op = "erfinv"


erfinv = _native.unary(
    ErfInv, "The inverse of `erf`, element-wise; nan outside [-1, 1].",
    example=("np.array([0.0, 0.5])", "array([0.        , 0.47693628])"),
)  # fmt: skip
