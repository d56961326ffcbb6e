"""Reordering along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad import _C
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


def _check_indices(indices):
    indices = cuda.to_cpu(indices)
    for i in indices:
        if not 0 <= i < len(indices):
            raise ValueError(f"Out of bounds index: {i}")
    values, counts = numpy.unique(indices, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"indices contains duplicate value: {values[counts > 1][0]}")


class Permutate(_native.NativeFunction):
    documented = "permutate"

    def __init__(self, indices: NdArray, axis: int, inv: bool) -> None:
        super().__init__()
        self.indices = indices
        self.axis = axis
        self.inv = inv

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x",))
        if self.axis < 0:
            type_check.expect(in_types[0].ndim >= -self.axis)
        else:
            type_check.expect(in_types[0].ndim > self.axis)

    def _run_bound(self, inputs):
        (x,) = inputs
        if _C.get_mode("debug"):
            _check_indices(self.indices)
        indices = self.indices.argsort() if self.inv else self.indices
        return _bound.get_item._apply_as(self, x, (slice(None),) * (self.axis % x.ndim) + (indices,))


def permutate(x: VariableOrArray, indices: VariableOrArray, axis: int = 0, inv: bool = False) -> Variable:
    """`x` with the elements of one axis in another order.

    Args:
        x: any dtype and shape.
        indices: int, a vector: a permutation of the axis.
        axis: which one; may be negative.
        inv: False: y[i] = x[indices[i]]; True: y[indices[i]] = x[i].

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        ValueError: `indices` is no vector of ints; in debug mode: no permutation.
        IndexError: an index is out of range.
        chainer.utils.type_check.InvalidType: `x` has no such axis.

    Example:
        >>> F.permutate(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1])).array
        array([3., 1., 2.])

    Source: `chainer.functions.permutate` of Chainer 7.8.1.
    """
    indices = as_array(indices)
    if indices.dtype.kind != "i" or indices.ndim != 1:
        raise ValueError(
            f"indices should be a one-dimensional int array. Actual: {indices.dtype} of shape {indices.shape}"
        )
    return Permutate(indices, axis, inv).apply((x,))[0]
