"""Reordering along an axis."""

import numpy

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array

_get_item = frontend.bind("get_item", dtype="any")


def _check_indices(indices):
    indices = cuda.to_cpu(indices)
    for i in indices:
        if not 0 <= i < len(indices):
            raise ValueError(f"Out of bounds index: {i}")
    values, counts = numpy.unique(indices, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"indices contains duplicate value: {values[counts > 1][0]}")


class Permutate(_native.NativeFunction):
    op = None

    def __init__(self, indices, axis, inv):
        super().__init__()
        self.indices = indices
        self.axis = axis
        self.inv = inv

    def check_type_forward(self, in_types):
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
        return _get_item._apply_as(self, x, (slice(None),) * (self.axis % x.ndim) + (indices,))


def permutate(x, indices, axis=0, inv=False):
    """`x` reordered along `axis` by `indices`, a vector of ints.

    y[i] = x[indices[i]]; with `inv`, y[indices[i]] = x[i].
    Raises ValueError for other indices; in debug mode also where they are no permutation.
    """
    indices = as_array(indices)
    if indices.dtype.kind != "i" or indices.ndim != 1:
        raise ValueError(
            f"indices should be a one-dimensional int array. Actual: {indices.dtype} of shape {indices.shape}"
        )
    return Permutate(indices, axis, inv).apply((x,))[0]
