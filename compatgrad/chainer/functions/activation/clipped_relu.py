"""Clipped rectified linear units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class ClippedReLU(_native.Elementwise):
    op = "clipped_relu"

    def __init__(self, z: float = 20.0) -> None:
        super().__init__(z=float(z))

    cap = _native.parameter("z")


@_native.function(ClippedReLU)
def clipped_relu(x: VariableOrArray, z: float = 20.0) -> Variable:
    """min(max(x, 0), z), element-wise.

    Args:
        x: floating, any shape.
        z: the upper bound.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.clipped_relu(np.array([-1.0, 5.0, 30.0]), z=20.0).array
        array([ 0.,  5., 20.])

    Source: `chainer.functions.clipped_relu` of Chainer 7.8.1.
    """
    return ClippedReLU(z).apply((x,))[0]


@_native.unary_docstring("min(max(x, 0), 6), element-wise.", "[-1.0, 5.0, 30.0]", "[0., 5., 6.]")
def relu6(x: VariableOrArray) -> Variable:
    return clipped_relu(x, 6.0)
