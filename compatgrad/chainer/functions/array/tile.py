"""Tiling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Tile(_native.NativeFunction):
    op = "tile"

    def __init__(self, reps: int | tuple[int, ...]) -> None:
        if isinstance(reps, int):
            reps = (reps,)
        elif not (isinstance(reps, tuple) and all(isinstance(n, int) for n in reps)):
            raise TypeError(f"reps must be int or tuple of ints.\nActual: {type(reps)}")
        if not all(n >= 0 for n in reps):
            raise ValueError(f"All elements in reps must be zero or larger. Actual: {reps}")
        super().__init__(reps=reps)

    reps = _native.parameter("reps")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1, in_types[0].ndim >= 0)


@_native.function(Tile, dtype="any")
def tile(x: VariableOrArray, reps: int | tuple[int, ...]) -> Variable:
    """`x` repeated as a whole, as numpy.tile.

    Args:
        x: any dtype and shape.
        reps: number of repetitions along each axis; fewer numbers than axes apply to the last axes, and an int to the
            last one.

    Returns:
        Variable of the dtype of `x`; more `reps` than axes add new axes in front.

    Raises:
        TypeError: `reps` is neither an int nor a tuple of ints.
        ValueError: a number is negative.

    Example:
        >>> F.tile(np.array([1.0, 2.0]), (2, 2)).array
        array([[1., 2., 1., 2.],
               [1., 2., 1., 2.]])

    Source: `chainer.functions.tile` of Chainer 7.8.1.
    """
    return Tile(reps).apply((x,))[0]
