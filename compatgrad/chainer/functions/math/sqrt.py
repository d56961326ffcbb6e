"""Square roots."""

from compatgrad.chainer.functions import _native


class Sqrt(_native.NamedElementwise):
    op = "sqrt"


sqrt = _native.unary(Sqrt, doc="Element-wise square root.")


def rsqrt(x):
    """Element-wise 1 / sqrt(x)."""
    return 1.0 / sqrt(x)
