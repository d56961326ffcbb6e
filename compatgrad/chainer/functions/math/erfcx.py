"""Scaled complementary error function."""

from compatgrad.chainer.functions import _native


class Erfcx(_native.NamedElementwise):
    op = "erfcx"


erfcx = _native.unary(
    Erfcx, "exp(x * x) * erfc(x), element-wise.",
    example=("np.array([0.0, 10.0])", "array([1.        , 0.05614099])"),
)  # fmt: skip
