"""Cumulative products."""

from compatgrad.chainer.functions.math.cumsum import Scan


class Cumprod(Scan):
    op = "cumprod"


def cumprod(x, axis=None):
    """Products of the first elements along `axis`; None: of the flattened `x`. TypeError for another axis."""
    return Cumprod(axis).apply((x,))[0]
