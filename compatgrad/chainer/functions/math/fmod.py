"""Remainder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Fmod(_native.NativeFunction):
    op = "fmod"
    label = "fmod"

    @type_check._expects
    def check_type_forward(self, x, divisor):
        return x.dtype == divisor.dtype, x.dtype.kind == "f", divisor.dtype.kind == "f"


@_native.function(Fmod)
def fmod(x: VariableOrArray, divisor: VariableOrArray) -> Variable:
    """The remainder of a division, with the sign of `x`, as numpy.fmod; with broadcasting.

    Args:
        x: floating, any shape.
        divisor: of the dtype of `x`.

    Returns:
        Variable of their dtype and common shape.

    Raises:
        TypeError: one of them is neither a Variable nor an array.
        ValueError: shapes cannot be broadcast.
        chainer.utils.type_check.InvalidType: they are not floating-point, or dtypes differ.

    Example:
        >>> F.fmod(np.array([-5.0, 5.0]), np.array([3.0, 3.0])).array
        array([-2.,  2.])

    Source: `chainer.functions.fmod` of Chainer 7.8.1.
    """
    return Fmod().apply((x, divisor))[0]
