"""Initializers without randomness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.initializer import Initializer

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import Array, DType

__all__ = ["Constant", "Identity", "NaN", "One", "Zero"]


class Identity(Initializer):
    """Fills a square matrix with the identity times `scale`: a layer begins as the identity function.

    Args:
        scale: the number on the diagonal.
        dtype: dtype that the array must have; None takes an array of any.

    Raises:
        ValueError: when called, the array is not a square matrix.
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> L.Linear(3, 3, initialW=chainer.initializers.Identity(2)).W.array
        array([[2., 0., 0.],
               [0., 2., 0.],
               [0., 0., 2.]], dtype=float32)

    Source: `chainer.initializers.Identity` of Chainer 7.8.1.
    """

    def __init__(self, scale: float = 1.0, dtype: DType | None = None) -> None:
        self.scale = scale
        super().__init__(dtype)

    def __call__(self, array: Array) -> None:
        self._check_dtype(array)
        shape = array.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"Identity matrix initialization needs a square matrix, not shape {shape}.")
        array[...] = backend.get_device_from_array(array).xp.identity(shape[0]) * self.scale


class _Constant(Initializer):
    fill_value = None

    def __init__(self, dtype: DType | None = None):
        if not (isinstance(self.fill_value, backend.get_array_types()) or numpy.isscalar(self.fill_value)):
            raise ValueError(f"fill_value must be a scalar or an array, not {type(self.fill_value)}.")
        super().__init__(dtype)

    def __call__(self, array):
        self._check_dtype(array)
        value = self.fill_value
        if isinstance(value, backend.get_array_types()):
            backend.copyto(array, value.astype(array.dtype, copy=False))
        else:
            array[...] = value


class Constant(_Constant):
    """Fills an array with a number, or with the elements of an array.

    Args:
        fill_value: a number, or an array that is broadcast to the shape of the one to fill.
        dtype: dtype that the array must have; None takes an array of any.

    Raises:
        ValueError: `fill_value` is neither a number nor an array, or its shape does not broadcast (when called).
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> L.Linear(2, 3, initialW=chainer.initializers.Constant(np.array([1, 2]))).W.array
        array([[1., 2.],
               [1., 2.],
               [1., 2.]], dtype=float32)

    Source: `chainer.initializers.Constant` of Chainer 7.8.1.
    """

    def __init__(self, fill_value: Any, dtype: DType | None = None) -> None:
        self.fill_value = fill_value
        super().__init__(dtype)


class Zero(_Constant):
    """Fills an array with 0.

    Args:
        dtype: dtype that the array must have; None takes an array of any.

    Raises:
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> chainer.Parameter(chainer.initializers.Zero(), (2, 2)).array
        array([[0., 0.],
               [0., 0.]], dtype=float32)

    Source: `chainer.initializers.Zero` of Chainer 7.8.1.
    """

    fill_value = 0.0


class One(_Constant):
    """Fills an array with 1.

    Args:
        dtype: dtype that the array must have; None takes an array of any.

    Raises:
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> chainer.Parameter(chainer.initializers.One(np.float64), (2,)).array
        array([1., 1.])

    Source: `chainer.initializers.One` of Chainer 7.8.1.
    """

    fill_value = 1.0


class NaN(_Constant):
    """Fills a floating-point array with NaN: all results that depend on a parameter which was never set become NaN, so
    that the mistake shows.

    Args:
        dtype: dtype that the array must have; None takes an array of any.

    Raises:
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> chainer.Parameter(chainer.initializers.NaN(), (2,)).array
        array([nan, nan], dtype=float32)

    Source: `chainer.initializers.NaN` of Chainer 7.8.1.
    """

    fill_value = numpy.nan
