"""Digamma function."""

from compatgrad.chainer.functions import _native


class DiGamma(_native.NamedElementwise):
    op = "digamma"


digamma = _native.unary(
    DiGamma, "The derivative of `lgamma`, element-wise.",
    example=("np.array([1.0, 2.0])", "array([-0.57721566,  0.42278434])"),
)  # fmt: skip
