"""Base classes of the random initializers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.initializer import Initializer, get_fans
from compatgrad.chainer.utils import argument
from compatgrad.core.random_numbers import PART, draw_parts

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import DType


def _many(array, scale):
    return array.size > PART and array.flags.c_contiguous and numpy.ndim(scale) == 0


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
            draw_parts(array, lambda shape: self._draw(numpy.random, shape, scale))
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
