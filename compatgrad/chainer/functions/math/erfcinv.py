"""Inverse complementary error function."""

from compatgrad.chainer.functions import _native


class ErfcInv(_native.NamedElementwise):
    op = "erfcinv"


erfcinv = _native.unary(
    ErfcInv, "The inverse of `erfc`, element-wise; nan outside [0, 2].",
    example=("np.array([1.0, 0.5])", "array([-0.        ,  0.47693628])"),
)  # fmt: skip
