"""Base classes of the random initializers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.initializer import Initializer, get_fans
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import DType

# Numbers that are drawn at a time, which are the same as those of one draw. All of them in float64 would take twice the
# memory of the array, and leave a hole of this size in the heap.
_PART = 1 << 16


def _many(array, scale):
    return array.size > _PART and array.flags.c_contiguous and numpy.ndim(scale) == 0


class _Random(Initializer):
    """Fills arrays from `rng`, or from the global stream of the array module, so that the values depend on the seed
    alone.
    """

    def __init__(self, scale, dtype, kwargs):
        (self.rng,) = argument.parse_kwargs(kwargs, ("rng", None)) if kwargs else (None,)
        self.scale = scale
        super().__init__(dtype)

    def _draw(self, random, shape, scale):
        raise NotImplementedError

    def _fill(self, array, scale):
        self._check_dtype(array)
        if self.rng is None and type(array) is numpy.ndarray and _many(array, scale):
            flat = array.reshape(-1)  # which shares the memory
            for start in range(0, array.size, _PART):
                part = flat[start : start + _PART]
                part[...] = self._draw(numpy.random, part.shape, scale)
        elif self.rng is None:
            array[...] = self._draw(backend.get_device_from_array(array).xp.random, array.shape, scale)
        else:
            backend.copyto(array, self._draw(self.rng, array.shape, scale).astype(array.dtype, copy=False))

    def __call__(self, array):
        self._fill(array, self.scale)


class _Scaled(_Random):
    """An initializer whose distribution's width depends on fan_in and fan_out."""

    def __init__(self, scale: float = 1.0, dtype: DType | None = None, **kwargs: Any):
        super().__init__(scale, dtype, kwargs)

    def _width(self, fan_in, fan_out):
        raise NotImplementedError

    def __call__(self, array):
        self._check_dtype(array)
        self._fill(array, self.scale * self._width(*get_fans(array.shape)))
