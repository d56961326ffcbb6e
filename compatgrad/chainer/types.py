"""Types for annotations. Mirrors ``chainer.types``."""

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
    """What fills an array in place; `dtype` is that of the array, None for any."""

    dtype: Any

    def __call__(self, array: NdArray) -> None: ...


InitializerSpec = AbstractInitializer | ScalarValue | numpy.ndarray
DeviceSpec = Union["backend.Device", "cuda.Device", str, int]
CudaDeviceSpec = Union["cuda.Device", int, numpy.integer]
