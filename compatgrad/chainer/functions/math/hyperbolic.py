"""Hyperbolic functions."""

from compatgrad.chainer.functions import _native


class Cosh(_native.NamedElementwise):
    op = "cosh"


class Sinh(_native.NamedElementwise):
    op = "sinh"


cosh = _native.unary(
    Cosh, "Hyperbolic cosine, element-wise.",
    example=("np.array([0.0, 1.0])", "array([1.        , 1.54308063])"),
)  # fmt: skip
sinh = _native.unary(
    Sinh, "Hyperbolic sine, element-wise.",
    example=("np.array([0.0, 1.0])", "array([0.        , 1.17520119])"),
)  # fmt: skip
