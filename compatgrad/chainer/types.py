"""Types for annotations. Mirrors ``chainer.types``."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, Protocol, Union

import numpy

if TYPE_CHECKING:
    from compatgrad.chainer import backend
    from compatgrad.chainer.backends import cuda

Shape = tuple[int, ...]
ShapeSpec = int | tuple[int, ...] | list[int]
DTypeSpec = Any
NdArray = Union[numpy.ndarray, "cuda.ndarray"]
Xp = Any
ScalarValue = numpy.generic | bytes | str | memoryview | numbers.Number


class AbstractInitializer(Protocol):
    """Type of objects that fill an array in place: initializers and functions. Its attribute `dtype` is the dtype of
    the parameter, None for any.

    Example:
        >>> initializer: chainer.types.AbstractInitializer = chainer.initializers.Constant(1)
        >>> array = np.zeros(2)
        >>> initializer(array)
        >>> array
        array([1., 1.])

    Source: `chainer.types.AbstractInitializer` of Chainer 7.8.1.
    """

    dtype: Any

    def __call__(self, array: NdArray) -> None: ...


InitializerSpec = AbstractInitializer | ScalarValue | numpy.ndarray
DeviceSpec = Union["backend.Device", "cuda.Device", str, int]
CudaDeviceSpec = Union["cuda.Device", int, numpy.integer]
