"""Products with a parameter of fewer axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.math import _alignment

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def scale(x: VariableOrArray, y: VariableOrArray, axis: int = 1) -> Variable:
    """The product of `x` and a parameter of fewer axes.

    Args:
        x: floating, any shape.
        y: of the dtype of `x`; its axes are those of `x` from `axis` on.
        axis: the first axis of `x` that `y` has, not negative.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: in debug mode: shapes do not fit.

    Example:
        >>> F.scale(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 20.0]), axis=0).array
        array([[10., 20.],
               [60., 80.]])

    Source: `chainer.functions.scale` of Chainer 7.8.1.
    """
    return x * _alignment.aligned(y, x, axis)
