"""Views of an array's memory by strides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
import torch

from compatgrad.chainer import backend, function_node
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.functions import _bound
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


def _reach(shape, strides, offset):
    """The smallest and the largest position in memory, in elements, that a view with these strides reaches."""
    steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return offset + sum(s for s in steps if s < 0), offset + sum(s for s in steps if s > 0)


def _memory(array):
    """The array that owns the memory of `array`, with axes in the order in which they lie in memory."""
    while isinstance(array.base, numpy.ndarray):
        array = array.base
    if isinstance(array.base, torch.Tensor):  # the result of a function, which may be a view of a larger tensor
        storage = array.base.untyped_storage()
        return array.base.new_empty(0).set_(storage, 0, (storage.nbytes() // array.itemsize,)).numpy()
    return array.transpose(numpy.argsort([-s for s in array.strides], kind="stable"))


def _stride_array(array, shape, strides, storage_offset):
    """A view of the memory behind `array`; strides and offset count elements. Raises ValueError if the view would reach
    beyond the memory."""
    if len(strides) != len(shape):
        raise ValueError(f"strides must be as many as the axes of shape. Actual: {strides} and {shape}")
    first, last = _reach(shape, strides, storage_offset)
    size = array.itemsize
    if first < 0:
        raise ValueError(
            f"Out of buffer: too small index was specified. The view would begin {-first} elements before the array"
        )
    if isinstance(array, cuda.ndarray):
        memory = array.data.mem
        if (last + 1) * size > memory.size:
            raise ValueError("Out of buffer: too large index was specified")
        start = cuda.cupy.cuda.memory.MemoryPointer(memory, storage_offset * size)
        return cuda.cupy.ndarray(shape, array.dtype, start, tuple([s * size for s in strides]))
    memory = _memory(array)
    if (last + 1) * size > memory.nbytes:
        raise ValueError("Out of buffer: too large index was specified")
    return numpy.ndarray(shape, array.dtype, memory.data, storage_offset * size, [s * size for s in strides])


def _offset(array):
    """The position in memory, in elements, at which `array` begins."""
    if isinstance(array, cuda.ndarray):
        return (array.data.ptr - array.data.mem.ptr) // array.itemsize
    start = _memory(array).__array_interface__["data"][0]
    return (array.__array_interface__["data"][0] - start) // array.itemsize


def _places(shape, strides, offset):
    places = numpy.full(shape, offset, dtype=numpy.int64)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        places += (numpy.arange(n) * stride).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    return places


class AsStrided(function_node.FunctionNode):
    documented = "as_strided"

    def __init__(self, shape: Sequence[int], strides: Sequence[int], storage_offset: int | None = None) -> None:
        self.shape = shape
        self.strides = strides
        self.storage_offset = storage_offset

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1)

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        (x,) = inputs
        self._in_geometry = x.shape, tuple([s // x.itemsize for s in x.strides]), _offset(x)
        if self.storage_offset is None:
            self.storage_offset = self._in_geometry[2]
        return (_stride_array(x, self.shape, self.strides, self.storage_offset),)

    def backward(self, indexes: Sequence[int], grad_outputs: Sequence[Variable | None]) -> tuple[Variable | None, ...]:
        """Each memory element gets the sum of the gradients of the output elements at it; input elements that share it
        divide it."""
        (gy,) = grad_outputs
        if gy.dtype.kind != "f":
            raise TypeError(f"Only float is supported for back propagation. Actual: {gy.dtype}")
        xp = backend.get_array_module(gy)
        from_places = _places(self.shape, self.strides, self.storage_offset)
        to_places = _places(*self._in_geometry)
        if from_places.size == 0 or to_places.size == 0:
            return (None,)
        first = min(from_places.min(), to_places.min())
        from_places -= first
        to_places -= first
        size = max(from_places.max(), to_places.max()) + 1
        memory = _bound.scatter_add(xp.zeros(size, dtype=gy.dtype), gy, (xp.asarray(from_places),))
        views = numpy.bincount(to_places.ravel())[to_places]
        gx = memory[xp.asarray(to_places)]
        return (gx / xp.asarray(views, dtype=gy.dtype) if views.max() > 1 else gx,)


def as_strided(
    x: VariableOrArray, shape: Sequence[int], strides: Sequence[int], storage_offset: int | None = None
) -> Variable:
    """A view of the memory of `x`: (i, j, ...) is at storage_offset + i * strides[0] + j * strides[1] + ....

    In backward, a memory element gets the sum of the gradients of all elements of the view that lie on it.

    Args:
        x: any dtype and shape.
        shape: of the view.
        strides: for each axis of the view, the elements from one entry to the next; may be 0 or negative.
        storage_offset: elements from the start of the memory to the first entry; None begins where `x` does.

    Returns:
        Variable of `shape` and of the dtype of `x`; its array shares memory with `x`.

    Raises:
        ValueError: the view would reach outside of the memory, or `strides` is not as long as `shape`.
        TypeError: in the backward computation: `x` is not floating-point.

    Example:
        >>> F.as_strided(np.arange(4.0), shape=(3, 2), strides=(1, 1)).array
        array([[0., 1.],
               [1., 2.],
               [2., 3.]])

    Source: `chainer.functions.as_strided` of Chainer 7.8.1.
    """
    return AsStrided(shape, strides, storage_offset).apply((x,))[0]
