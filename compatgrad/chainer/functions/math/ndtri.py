"""Inverse of the normal distribution function."""

from compatgrad.chainer.functions import _native


class Ndtri(_native.NamedElementwise):
    op = "ndtri"


ndtri = _native.unary(
    Ndtri, "The inverse of `ndtr`: quantiles of the standard normal distribution, element-wise.",
    example=("np.array([0.5, 0.975])", "array([0.        , 1.95996398])"),
)  # fmt: skip
