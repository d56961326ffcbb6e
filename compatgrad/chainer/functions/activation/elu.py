"""Exponential linear unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class ELU(_native.Elementwise):
    op = "elu"

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(alpha=float(alpha))

    alpha = _native.parameter("alpha")


@_native.function(ELU)
def elu(x: VariableOrArray, alpha: float = 1.0) -> Variable:
    """`x` where it is positive, else `alpha * (exp(x) - 1)`.

    Args:
        x: floating, any shape.
        alpha: the result tends to `-alpha` for x towards minus infinity.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.elu(np.array([-1.0, 2.0])).array
        array([-0.63212056,  2.        ])

    Source: `chainer.functions.elu` of Chainer 7.8.1; Clevert et al. 2016.
    """
    return ELU(alpha).apply((x,))[0]
