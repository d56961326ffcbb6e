"""Removal of axes of length 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Axes, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Squeeze(_native.NativeFunction):
    op = "squeeze"

    def __init__(self, axis: Axes = None) -> None:
        if isinstance(axis, int):
            axis = (axis,)
        elif axis is not None and not (isinstance(axis, tuple) and all(isinstance(a, int) for a in axis)):
            raise TypeError(f"axis must be None, int or tuple of ints. Actual: {axis!r}")
        super().__init__(axis=axis)

    axis = _native.parameter("axis")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1)
        for axis in self.axis or ():
            if axis >= 0:
                type_check.expect(axis < in_types[0].ndim)
            else:
                type_check.expect(-in_types[0].ndim <= axis)


_squeeze = frontend.bind("squeeze", lambda x, axis: Squeeze(axis).apply((x,))[0], dtype="any")


def squeeze(x: VariableOrArray, axis: Axes = None) -> Variable:
    """`x` without axes of length 1.

    Args:
        x: any dtype and shape.
        axis: which ones, an int or a tuple; None: all that have length 1.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        TypeError: `axis` is of another kind.
        ValueError: an axis of `axis` has another length than 1.
        chainer.utils.type_check.InvalidType: `x` has no such axis.

    Example:
        >>> F.squeeze(np.array([[[1.0, 2.0]]]), axis=0).array
        array([[1., 2.]])

    Source: `chainer.functions.squeeze` of Chainer 7.8.1.
    """
    for a in (axis,) if isinstance(axis, int) else axis if isinstance(axis, tuple) else ():
        if -x.ndim <= a < x.ndim and x.shape[a] != 1:
            raise ValueError(f"cannot squeeze out axis {a}: its length is {x.shape[a]}, not 1")
    return _squeeze(x, axis)
