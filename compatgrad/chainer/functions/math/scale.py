"""Products with a parameter of fewer axes."""

from compatgrad.chainer.functions.math._alignment import aligned


def scale(x, y, axis=1):
    """`x * y`, where the axes of `y` are those of `x` from `axis` on."""
    return x * aligned(y, x, axis)
