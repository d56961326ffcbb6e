"""An axis moved to another place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Rollaxis(_native.NativeFunction):
    documented = "rollaxis"

    def __init__(self, axis: int, start: int) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"axis must be int, not {type(axis).__name__}")
        if not isinstance(start, int):
            raise TypeError(f"start must be int, not {type(start).__name__}")
        super().__init__()
        self.axis = axis
        self.start = start

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))
        _native.expect_axis(in_types[0], self.axis)
        if self.start >= 0:
            type_check.expect(in_types[0].ndim >= self.start)
        else:
            type_check.expect(in_types[0].ndim > -self.start - 1)

    def _run_bound(self, inputs):
        (x,) = inputs
        axis = self.axis % x.ndim
        start = self.start + x.ndim if self.start < 0 else self.start
        axes = [a for a in range(x.ndim) if a != axis]
        axes.insert(start - (axis < start), axis)
        return _bound.transpose._apply_as(self, x, axes)


def rollaxis(x: VariableOrArray, axis: int, start: int = 0) -> Variable:
    """`x` with one axis moved, as numpy.rollaxis.

    Args:
        x: any dtype and shape.
        axis: the axis to move; may be negative.
        start: the axis before which it is put; `x.ndim` puts it last.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        TypeError: `axis` or `start` is not an int.
        chainer.utils.type_check.InvalidType: `x` has no such axis.

    Example:
        >>> F.rollaxis(np.zeros((2, 3, 4)), axis=2).shape
        (4, 2, 3)

    Source: `chainer.functions.rollaxis` of Chainer 7.8.1.
    """
    return Rollaxis(axis, start).apply((x,))[0]
