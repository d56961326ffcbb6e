"""Maxout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array.reshape import reshape as _reshape
from compatgrad.chainer.functions.math.minmax import max as _max
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def maxout(x: VariableOrArray, pool_size: int, axis: int = 1) -> Variable:
    """Maximum over groups of `pool_size` neighbours along `axis`.

    Args:
        x: floating; the length of `axis` is a multiple of `pool_size`.
        pool_size: the size of a group.
        axis: not negative.

    Returns:
        Variable of the dtype of `x`; `axis` is `pool_size` times shorter.

    Raises:
        ValueError: `pool_size` is not positive.
        chainer.utils.type_check.InvalidType: `pool_size` does not divide the length of `axis`, or `x` is not
            floating-point.

    Example:
        >>> F.maxout(np.array([[1.0, 5.0, 2.0, -3.0]]), pool_size=2).array
        array([[5., 2.]])

    Source: `chainer.functions.maxout` of Chainer 7.8.1; Goodfellow et al. 2013.
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
    return _max(_reshape(x, shape), axis=axis + 1)
