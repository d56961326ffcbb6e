"""Blocks of channels as blocks of pixels."""

from compatgrad.chainer.functions.array import space2depth as _other
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose


def depth2space(X, r):
    """`X` (n, r * r * c, h, w) as (n, c, r * h, r * w): channels become pixels (Shi et al. 2016).

    Inverse of `space2depth`.
    """
    _other.check_images("Depth2Space", X)
    n, c, h, w = X.shape
    c //= r**2
    blocks = transpose(reshape(X, (n, r, r, c, h, w)), (0, 3, 4, 1, 5, 2))
    return reshape(blocks, (n, c, r * h, r * w))
