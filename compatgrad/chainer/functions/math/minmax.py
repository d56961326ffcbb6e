"""Largest and smallest elements over axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer import backend, function_node
from compatgrad.chainer._documented import _sharing
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.math import _reduction
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import Axes, VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class Max(_reduction.Reduction):
    op = "max"


class Min(_reduction.Reduction):
    op = "min"


class IndexSelectorBase(function_node.FunctionNode):
    """Base of `ArgMax` and `ArgMin`: the index of one element along an axis; not differentiable.

    Args:
        axis: may be negative; None: of the flattened input.

    Raises:
        TypeError: `axis` is of another kind.

    Example:
        >>> F.math.minmax.ArgMax(axis=0).apply((np.array([1.0, 3.0, 2.0]),))[0].array
        array(1, dtype=int32)

    Source: `chainer.functions.math.minmax.IndexSelectorBase` of Chainer 7.8.1.
    """

    def __init__(self, axis: int | None = None) -> None:
        if axis is not None and not isinstance(axis, int):
            raise TypeError(f"axis: None or int are required, not {type(axis).__name__}")
        self.axis = axis

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1, in_types[0].dtype.kind == "f")
        if self.axis is not None:
            _native.expect_axis(in_types[0], self.axis)

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        return (self._select(backend.get_array_module(*inputs), inputs[0]),)

    def backward(self, indexes: Sequence[int], grad_outputs: Sequence[Variable | None]) -> tuple[Variable | None, ...]:
        return (None,)


class ArgMax(IndexSelectorBase):
    documented = "argmax"

    def _select(self, xp, x):
        return xp.asarray(x.argmax(self.axis)).astype(numpy.int32)


class ArgMin(IndexSelectorBase):
    documented = "argmin"

    def _select(self, xp, x):
        return xp.asarray(x.argmin(self.axis)).astype(numpy.int32)


@_native.function(Max)
@_sharing(_reduction.OVER_AXES)
def max(x: VariableOrArray, axis: Axes = None, keepdims: bool = False) -> Variable:
    """Largest elements over axes; all elements that are equal to a result get its gradient.

    Raises:
        IndexError: an axis that is reduced has no elements.

    Example:
        >>> F.max(np.array([[1.0, 2.0], [4.0, 3.0]]), axis=1).array
        array([2., 4.])

    Source: `chainer.functions.max` of Chainer 7.8.1.
    """
    return Max(axis, keepdims).apply((x,))[0]


@_native.function(Min)
@_sharing(_reduction.OVER_AXES)
def min(x: VariableOrArray, axis: Axes = None, keepdims: bool = False) -> Variable:
    """Smallest elements over axes; all elements that are equal to a result get its gradient.

    Raises:
        IndexError: an axis that is reduced has no elements.

    Example:
        >>> F.min(np.array([[1.0, 2.0], [4.0, 3.0]]), axis=1).array
        array([1., 3.])

    Source: `chainer.functions.min` of Chainer 7.8.1.
    """
    return Min(axis, keepdims).apply((x,))[0]


def argmax(x: VariableOrArray, axis: int | None = None) -> Variable:
    """Index of the largest element along an axis, the first one among equals. Not differentiable.

    Args:
        x: floating, any shape.
        axis: may be negative; None: of the flattened `x`.

    Returns:
        Variable, int32, without `axis`.

    Raises:
        TypeError: `axis` is of another kind.
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has no such axis.
        ValueError: `x` has no elements.

    Example:
        >>> F.argmax(np.array([[1.0, 2.0], [4.0, 3.0]]), axis=1).array
        array([1, 0], dtype=int32)

    Source: `chainer.functions.argmax` of Chainer 7.8.1.
    """
    return ArgMax(axis).apply((x,))[0]


def argmin(x: VariableOrArray, axis: int | None = None) -> Variable:
    """Index of the smallest element along an axis, the first one among equals. Not differentiable.

    Args:
        x: floating, any shape.
        axis: may be negative; None: of the flattened `x`.

    Returns:
        Variable, int32, without `axis`.

    Raises:
        TypeError: `axis` is of another kind.
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has no such axis.
        ValueError: `x` has no elements.

    Example:
        >>> F.argmin(np.array([[1.0, 2.0], [4.0, 3.0]]), axis=1).array
        array([0, 1], dtype=int32)

    Source: `chainer.functions.argmin` of Chainer 7.8.1.
    """
    return ArgMin(axis).apply((x,))[0]
