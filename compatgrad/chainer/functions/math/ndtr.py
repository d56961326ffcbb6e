"""Normal distribution function."""

from compatgrad.chainer.functions import _native


class Ndtr(_native.NamedElementwise):
    op = "ndtr"


ndtr = _native.unary(
    Ndtr, "Distribution function of the standard normal distribution, element-wise.",
    example=("np.array([0.0, 1.96])", "array([0.5      , 0.9750021])"),
)  # fmt: skip
