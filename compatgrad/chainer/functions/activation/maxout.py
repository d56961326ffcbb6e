"""Maxout."""

from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.math.minmax import max as maximum_of
from compatgrad.chainer.utils import type_check


def maxout(x, pool_size, axis=1):
    """Maximum over groups of `pool_size` neighbours along `axis` (Goodfellow et al. 2013).

    Raises ValueError where `pool_size` is not positive, InvalidType where it does not divide the axis.
    """
    if pool_size <= 0:
        raise ValueError(f"pool_size must be a positive integer. Actual: {pool_size}")
    length = x.shape[axis]
    if length % pool_size != 0:
        raise type_check.InvalidType(
            "x.shape[axis] % pool_size == 0", f"x.shape[axis]={length}, pool_size={pool_size}",
            "axis dimension must be divided by pool_size",
        )  # fmt: skip
    shape = x.shape[:axis] + (length // pool_size, pool_size) + x.shape[axis + 1 :]
    return maximum_of(reshape(x, shape), axis=axis + 1)
