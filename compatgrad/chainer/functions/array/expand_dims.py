"""A new axis of length 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class ExpandDims(_native.NativeFunction):
    op = "expand_dims"

    def __init__(self, axis: int) -> None:
        super().__init__(axis=int(axis))

    axis = _native.parameter("axis")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))
        if self.axis >= 0:
            type_check.expect(in_types[0].ndim >= self.axis)
        else:
            type_check.expect(in_types[0].ndim >= -self.axis - 1)


@_native.function(ExpandDims, dtype="any")
def expand_dims(x: VariableOrArray, axis: int) -> Variable:
    """`x` with a new axis of length 1.

    Args:
        x: any dtype and shape.
        axis: the place of the new axis in the result; negative: counted from its last axis.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: the result would have no such axis.

    Example:
        >>> F.expand_dims(np.array([1.0, 2.0]), axis=0).array
        array([[1., 2.]])

    Source: `chainer.functions.expand_dims` of Chainer 7.8.1.
    """
    return ExpandDims(axis).apply((x,))[0]
