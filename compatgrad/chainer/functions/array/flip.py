"""Reversal along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _flip(array: Any, axis: int) -> Any:
    # nothing here calls it: programs find it here, as in Chainer
    return array[(slice(None),) * (axis % array.ndim) + (slice(None, None, -1),)]


class Flip(_native.NativeFunction):
    op = "flip"

    def __init__(self, axis: int) -> None:
        if not isinstance(axis, int):
            raise TypeError(f"axis must be int, not {type(axis).__name__}")
        super().__init__(axis=(axis,))

    axis = _native.parameter("axis", 0)

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))
        type_check.expect(in_types[0].ndim > 0)
        if self.axis >= 0:
            type_check.expect(in_types[0].ndim > self.axis)
        else:
            type_check.expect(in_types[0].ndim >= -self.axis)


class _FlipAlong(_native.NativeFunction):
    """Base of the flips along a fixed axis, `_axis`, of floating-point arrays."""

    _axis: int

    @type_check._expects
    def check_type_forward(self, a):
        return a.dtype.kind == "f", a.ndim >= self._axis + 1

    def _run_bound(self, inputs):
        return _bound.flip._apply_as(self, inputs[0], (self._axis,))


def flip(x: VariableOrArray, axis: int) -> Variable:
    """`x` in reverse order along `axis`.

    Args:
        x: any dtype, at least 1 axis.
        axis: may be negative.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        TypeError: `axis` is not an int.
        chainer.utils.type_check.InvalidType: `x` has no such axis.

    Example:
        >>> F.flip(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1).array
        array([[2., 1.],
               [4., 3.]])

    Source: `chainer.functions.flip` of Chainer 7.8.1.
    """
    return Flip(axis).apply((x,))[0]
