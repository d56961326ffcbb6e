"""Flattening."""

from compatgrad.chainer.functions.array.reshape import reshape


def flatten(x):
    """`x` as a vector, in C order."""
    return reshape(x, (x.size,))
