"""Flattening."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.array.reshape import reshape

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def flatten(x: VariableOrArray) -> Variable:
    """The elements of `x` as a vector, in C order.

    Args:
        x: any dtype and shape.

    Returns:
        Variable with 1 axis, of the dtype of `x`.

    Raises:
        AttributeError: `x` is neither a Variable nor an array.

    Example:
        >>> F.flatten(np.array([[1.0, 2.0], [3.0, 4.0]])).array
        array([1., 2., 3., 4.])

    Source: `chainer.functions.flatten` of Chainer 7.8.1.
    """
    return reshape(x, (x.size,))
