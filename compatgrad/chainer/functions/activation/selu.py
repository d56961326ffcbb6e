"""Scaled exponential linear unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.activation.elu import elu

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def selu(x: VariableOrArray, alpha: float = 1.6732632423543772, scale: float = 1.0507009873554805) -> Variable:
    """`scale * elu(x, alpha)`, element-wise; with the defaults, activations tend to mean 0 and variance 1.

    Args:
        x: floating, any shape.
        alpha: of `elu`.
        scale: the factor of the result.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.selu(np.array([-1.0, 2.0])).array
        array([-1.11133074,  2.10140197])

    Source: `chainer.functions.selu` of Chainer 7.8.1; Klambauer et al. 2017.
    """
    return scale * elu(x, alpha=alpha)
