"""Initializers without randomness."""

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.initializer import Initializer


class Identity(Initializer):
    """The identity matrix times `scale`. Raises ValueError for what is not a square matrix."""

    def __init__(self, scale=1.0, dtype=None):
        self.scale = scale
        super().__init__(dtype)

    def __call__(self, array):
        self._check_dtype(array)
        shape = array.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"Identity matrix initialization needs a square matrix, not shape {shape}.")
        array[...] = backend.get_device_from_array(array).xp.identity(shape[0]) * self.scale


class _Constant(Initializer):
    fill_value = None

    def __init__(self, dtype=None):
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
    """`fill_value` everywhere: a scalar, or an array that is broadcast. Raises ValueError for anything
    else.
    """

    def __init__(self, fill_value, dtype=None):
        self.fill_value = fill_value
        super().__init__(dtype)


class Zero(_Constant):
    """0 everywhere."""

    fill_value = 0.0


class One(_Constant):
    """1 everywhere."""

    fill_value = 1.0


class NaN(_Constant):
    """NaN everywhere."""

    fill_value = numpy.nan
