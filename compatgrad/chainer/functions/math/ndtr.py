"""Normal distribution function."""

from compatgrad.chainer.functions import _native

Ndtr, ndtr = _native.unary(
    "Ndtr",
    "Distribution function of the standard normal distribution, element-wise.",
    "[0.0, 1.96]",
    "[0.5      , 0.9750021]",
)
