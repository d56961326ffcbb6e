"""Separation along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Separate(_native.NativeFunction):
    documented = "separate"
    op = "unstack"

    def __init__(self, axis: int = 0) -> None:
        super().__init__(axis=axis)

    axis = _native.parameter("axis")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))
        if self.axis >= 0:
            type_check.expect(self.axis < in_types[0].ndim)
        else:
            type_check.expect(-self.axis <= in_types[0].ndim)


_unstack = frontend.bind("unstack", lambda x, axis: Separate(axis).apply((x,)), dtype="any")


def separate(x: VariableOrArray, axis: int = 0) -> tuple[Variable, ...]:
    """The slices of `x` along an axis, without that axis: the inverse of `stack`.

    Args:
        x: any dtype, at least 1 axis.
        axis: may be negative.

    Returns:
        Tuple of Variables of the dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` has no such axis.

    Example:
        >>> x, y = F.separate(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1)
        >>> y.array
        array([2., 4.])

    Source: `chainer.functions.separate` of Chainer 7.8.1.
    """
    ys = _unstack(x, axis)
    return ys if isinstance(ys, tuple) else (ys,)
