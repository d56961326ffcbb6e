"""Axes moved to other places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _bound, _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.utils import type_check
    from compatgrad.chainer.variable import Variable


def _axes(axis, ndim, name):
    if not all(isinstance(a, int) for a in axis):
        raise TypeError(f"{name}: int or tuple of int are required. Actual: {axis!r}")
    axes = [a % ndim for a in axis]
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in {name} axis: ({', '.join(map(str, axes))})")
    return axes


class Moveaxis(_native.NativeFunction):
    documented = "moveaxis"

    def __init__(self, source: IntOrInts, destination: IntOrInts) -> None:
        super().__init__()
        self.source = (source,) if isinstance(source, int) else source
        self.destination = (destination,) if isinstance(destination, int) else destination

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        _native.expect_floats(in_types, ("x",))
        for axis in (*self.source, *self.destination):
            _native.expect_axis(in_types[0], axis)

    def _run_bound(self, inputs):
        (x,) = inputs
        source = _axes(self.source, x.ndim, "source")
        destination = _axes(self.destination, x.ndim, "destination")
        if len(source) != len(destination):
            raise ValueError(
                f"Length of source and destination are different. Actual: {len(source)} and {len(destination)}"
            )
        order = [a for a in range(x.ndim) if a not in source]
        for to, a in sorted(zip(destination, source, strict=True)):
            order.insert(to, a)
        return _bound.transpose._apply_as(self, x, order)


def moveaxis(x: VariableOrArray, source: IntOrInts, destination: IntOrInts) -> Variable:
    """`x` with some axes at other places; the others keep their order.

    Args:
        x: floating, any shape.
        source: the axes to move: an int or a tuple, negative ones counted from the last.
        destination: for each of them its place in the result.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        TypeError: an axis is not an int.
        ValueError: an axis or a place is given twice, or they differ in number.
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has no such axis.

    Example:
        >>> F.moveaxis(np.zeros((2, 3, 4)), source=0, destination=2).shape
        (3, 4, 2)

    Source: `chainer.functions.moveaxis` of Chainer 7.8.1.
    """
    return Moveaxis(source, destination).apply((x,))[0]
