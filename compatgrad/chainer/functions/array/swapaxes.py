"""Exchange of two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Swapaxes(_native.NativeFunction):
    documented = "swapaxes"

    def __init__(self, axis1: int, axis2: int) -> None:
        super().__init__()
        self.axis1 = axis1
        self.axis2 = axis2

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1)

    def _run_bound(self, inputs):
        (x,) = inputs
        axes = list(range(x.ndim))
        if not all(-x.ndim <= axis < x.ndim for axis in (self.axis1, self.axis2)):
            raise getattr(np, "exceptions", np).AxisError(
                f"axis1 and axis2 must be among the {x.ndim} axes of x. Actual: {self.axis1} and {self.axis2}"
            )
        axes[self.axis1], axes[self.axis2] = axes[self.axis2], axes[self.axis1]
        return _bound.transpose._apply_as(self, x, axes)


def swapaxes(x: VariableOrArray, axis1: int, axis2: int) -> Variable:
    """`x` with two axes exchanged.

    Args:
        x: any dtype and shape.
        axis1: one of them; may be negative.
        axis2: the other one.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        IndexError: `x` has no such axis.

    Example:
        >>> F.swapaxes(np.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)

    Source: `chainer.functions.swapaxes` of Chainer 7.8.1.
    """
    return Swapaxes(axis1, axis2).apply((x,))[0]
