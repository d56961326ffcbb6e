"""Logarithm of the gamma function."""

from compatgrad.chainer.functions import _native


class LGamma(_native.NamedElementwise):
    op = "lgamma"


lgamma = _native.unary(
    LGamma, "log(abs(gamma(x))), element-wise.",
    example=("np.array([1.0, 5.0])", "array([0.        , 3.17805383])"),
)  # fmt: skip
