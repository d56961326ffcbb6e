"""Repetition of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Repeat(_native.NativeFunction):
    op = "repeat"

    def __init__(self, repeats: int | tuple[int, ...], axis: int | None = None) -> None:
        if isinstance(repeats, int):
            repeats = (repeats,)
        elif not (isinstance(repeats, tuple) and all(isinstance(n, int) for n in repeats)):
            raise TypeError(f"repeats must be int or tuple of ints. Actual: {repeats!r}")
        if not all(n >= 0 for n in repeats):
            raise ValueError(f"all elements in repeats must be zero or larger. Actual: {repeats}")
        if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
            raise TypeError(f"axis must be int or None, not {type(axis).__name__}")
        super().__init__(repeats=repeats, axis=axis)

    repeats = _native.parameter("repeats")
    axis = _native.parameter("axis")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))


def repeat(x: VariableOrArray, repeats: int | tuple[int, ...], axis: int | None = None) -> Variable:
    """Each element repeated, as numpy.repeat.

    Args:
        x: any dtype and shape.
        repeats: number of repetitions: an int, or a tuple with one int for each entry along `axis`.
        axis: the axis; None repeats the elements of the flattened `x`.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        TypeError: `repeats` or `axis` is of another kind.
        ValueError: a number is negative, or the tuple's length is not that of `axis`.
        IndexError: `x` has no such axis.

    Example:
        >>> F.repeat(np.array([1.0, 2.0]), (2, 1), axis=0).array
        array([1., 1., 2.])

    Source: `chainer.functions.repeat` of Chainer 7.8.1.
    """
    return Repeat(repeats, axis).apply((x,))[0]
