"""Softplus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Softplus(_native.Elementwise):
    op = "softplus"

    def __init__(self, beta: float = 1.0) -> None:
        super().__init__(beta=float(beta))

    beta = _native.parameter("beta")


@_native.function(Softplus)
def softplus(x: VariableOrArray, beta: float = 1.0) -> Variable:
    """log(1 + exp(beta * x)) / beta, element-wise: a smooth `relu`.

    Args:
        x: floating, any shape.
        beta: the larger it is, the closer to `relu`.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.softplus(np.array([-1.0, 0.0, 100.0])).array
        array([  0.31326169,   0.69314718, 100.        ])

    Source: `chainer.functions.softplus` of Chainer 7.8.1.
    """
    return Softplus(beta).apply((x,))[0]
