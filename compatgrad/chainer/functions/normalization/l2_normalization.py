"""Normalization by the L2 norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.utils import type_check
    from compatgrad.chainer.variable import Variable


class NormalizeL2(_native.NativeFunction):
    op = "normalize"

    def __init__(self, eps: float = 1e-5, axis: IntOrInts = 1) -> None:
        super().__init__(eps=eps, axis=(axis,) if isinstance(axis, int) else axis)

    eps = _native.parameter("eps")
    axis = _native.parameter("axis")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        _native.expect_floats(in_types, ("x",))


@_native.function(NormalizeL2)
def normalize(x: VariableOrArray, eps: float = 1e-5, axis: IntOrInts = 1) -> Variable:
    """`x / (norm + eps)` with the L2 norm over `axis`. The gradient at zero is finite.

    Args:
        x: floating, any shape that has `axis`.
        eps: small number that keeps the divisor from 0.
        axis: an int or a tuple.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point.
        IndexError: `x` has no such axis.

    Example:
        >>> F.normalize(np.array([[3.0, 4.0]]), eps=0).array
        array([[0.6, 0.8]])

    Source: `chainer.functions.normalize` of Chainer 7.8.1.
    """
    return NormalizeL2(eps, axis).apply((x,))[0]
