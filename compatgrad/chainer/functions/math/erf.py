"""Error function."""

from compatgrad.chainer.functions import _native

Erf, erf = _native.unary(
    "Erf",
    "The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to `x`, element-wise.",
    "[0.0, 1.0]",
    "[0.        , 0.84270079]",
)
