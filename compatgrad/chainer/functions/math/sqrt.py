"""Square roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


Sqrt, sqrt = _native.unary("Sqrt", "Square root, element-wise; nan for negative elements.", "[4.0, 9.0]", "[2., 3.]")


def rsqrt(x: VariableOrArray) -> Variable:
    """1 / sqrt(x), element-wise.

    Args:
        x: floating, any shape.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.rsqrt(np.array([4.0, 0.25])).array
        array([0.5, 2. ])

    Source: `chainer.functions.rsqrt` of Chainer 7.8.1.
    """
    return 1.0 / sqrt(x)
