"""Functions that reduce axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Axes
    from compatgrad.chainer.utils import type_check


# The sections that docstrings of functions over axes share, and of cumulative functions.
OVER_AXES = """
Args:
    x: floating, any shape.
    axis: which axes: an int or a tuple, negative ones counted from the last; None: all.
    keepdims: True keeps the axes, with length 1.

Returns:
    Variable of the dtype of `x`.

Raises:
    TypeError: `axis` is of another kind.
    ValueError: an axis is given twice.
    chainer.utils.type_check.InvalidType: `x` is not floating-point or has no such axis.
"""
ALONG_AXIS = """
Args:
    x: floating, any shape.
    axis: may be negative; None: of the flattened `x`, a vector.

Returns:
    Variable of the dtype of `x`.

Raises:
    TypeError: `axis` is of another kind.
    chainer.utils.type_check.InvalidType: `x` is not floating-point or has no such axis.
"""


def checked_axis(axis):
    """`axis` as None or a tuple of ints. Raises TypeError unless it is None, an int or a tuple of ints, ValueError for
    an axis that is given twice.
    """
    if axis is None:
        return None
    if isinstance(axis, (int, numpy.integer)):
        return (int(axis),)
    if not (isinstance(axis, tuple) and all(isinstance(a, (int, numpy.integer)) for a in axis)):
        raise TypeError(f"axis: None, int or tuple of int are required. Actual: {axis!r}")
    if len(set(axis)) != len(axis):
        raise ValueError(f"duplicate value in axis: ({', '.join(map(str, axis))})")
    return axis


class Reduction(_native.NativeFunction):
    def __init__(self, axis: Axes = None, keepdims: bool = False) -> None:
        super().__init__(axis=checked_axis(axis), keepdims=keepdims)

    axis = _native.parameter("axis")
    keepdims = _native.parameter("keepdims")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        _native.expect_floats(in_types, ("x",))
        for axis in self.axis or ():
            _native.expect_axis(in_types[0], axis)


class Scan(_native.NativeFunction):
    """A cumulative function, such as cumsum, along an axis or over the flattened input."""

    def __init__(self, axis: int | None = None) -> None:
        if not (isinstance(axis, int) or axis is None):
            raise TypeError(f"axis must be int or None, not {type(axis).__name__}")
        super().__init__(axis=axis)

    axis = _native.parameter("axis")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        _native.expect_floats(in_types, ("x",))
        if self.axis is not None:
            _native.expect_axis(in_types[0], self.axis)
