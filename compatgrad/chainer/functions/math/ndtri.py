"""Inverse of the normal distribution function."""

from compatgrad.chainer.functions import _native

Ndtri, ndtri = _native.unary(
    "Ndtri",
    "The inverse of `ndtr`: quantiles of the standard normal distribution, element-wise.",
    "[0.5, 0.975]",
    "[0.        , 1.95996398]",
)
