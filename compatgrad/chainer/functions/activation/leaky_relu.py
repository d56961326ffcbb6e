"""Leaky rectified linear unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class LeakyReLU(_native.Elementwise):
    op = "leaky_relu"

    def __init__(self, slope: float = 0.2) -> None:
        super().__init__(slope=float(slope))

    slope = _native.parameter("slope")


@_native.function(LeakyReLU)
def leaky_relu(x: VariableOrArray, slope: float = 0.2) -> Variable:
    """`x` where it is positive, else `slope * x`.

    Args:
        x: floating, any shape.
        slope: the factor of negative elements.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.leaky_relu(np.array([-1.0, 2.0]), slope=0.1).array
        array([-0.1,  2. ])

    Source: `chainer.functions.leaky_relu` of Chainer 7.8.1.
    """
    return LeakyReLU(slope).apply((x,))[0]
