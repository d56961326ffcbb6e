"""Blocks of pixels as blocks of channels."""

from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array


def check_images(function, x):
    """InvalidType unless `x` is (n, c, h, w) and floating."""
    (t,) = type_check.get_types((as_array(x),), function, False)
    type_check.expect(t.dtype.kind == "f", t.ndim == 4)


def space2depth(X, r):
    """`X` (n, c, r * h, r * w) as (n, r * r * c, h, w): pixels become channels. Inverse of `depth2space`."""
    check_images("Space2Depth", X)
    n, c, h, w = X.shape
    blocks = transpose(reshape(X, (n, c, h // r, r, w // r, r)), (0, 3, 5, 1, 2, 4))
    return reshape(blocks, (n, r**2 * c, h // r, w // r))
