"""Inverse hyperbolic tangent."""

from compatgrad.chainer.functions import _native


class Arctanh(_native.Elementwise):
    op = "arctanh"


arctanh = _native.unary(
    Arctanh, "Inverse hyperbolic tangent, element-wise; nan outside [-1, 1].",
    example=("np.array([0.0, 0.5])", "array([0.        , 0.54930614])"),
)  # fmt: skip
