"""Joining along a new axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariablesOrArrays
    from compatgrad.chainer.variable import Variable


class Stack(_native.NativeListFunction):
    op = "stack"

    def __init__(self, axis: int = 0) -> None:
        super().__init__(axis=axis)

    axis = _native.parameter("axis")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() > 0)
        type_check.expect(-in_types[0].ndim - 1 <= self.axis, self.axis <= in_types[0].ndim)
        for t in in_types[1:]:
            type_check.expect(in_types[0].dtype == t.dtype, in_types[0].shape == t.shape)


_stack = frontend.bind("stack", lambda xs, axis: Stack(axis).apply(xs)[0], dtype="same")


def stack(xs: VariablesOrArrays, axis: int = 0) -> Variable:
    """Variables or arrays, joined along a new axis.

    Args:
        xs: at least one, all of one dtype and shape.
        axis: the place of the new axis in the result; may be negative.

    Returns:
        Variable of the dtype of `xs`.

    Raises:
        chainer.utils.type_check.InvalidType: `xs` is empty, dtypes or shapes differ, or there is no such place.

    Example:
        >>> F.stack([np.array([1.0, 2.0]), np.array([3.0, 4.0])], axis=1).array
        array([[1., 3.],
               [2., 4.]])

    Source: `chainer.functions.stack` of Chainer 7.8.1.
    """
    return _stack(xs if isinstance(xs, (list, _C.Variable)) else list(xs), axis)
