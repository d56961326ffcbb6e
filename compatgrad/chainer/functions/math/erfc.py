"""Complementary error function."""

from compatgrad.chainer.functions import _native


class Erfc(_native.NamedElementwise):
    op = "erfc"


erfc = _native.unary(
    Erfc, "1 - erf(x), element-wise, exact where it is small.",
    example=("np.array([0.0, 10.0])", "array([1.00000000e+00, 2.08848758e-45])"),
)  # fmt: skip
