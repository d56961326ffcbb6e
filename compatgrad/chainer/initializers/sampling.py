"""Filters of linear interpolation."""

import functools
import operator

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.initializer import Initializer


def _linear_filter(size, ndim):
    factor = (size + 1) // 2
    centre = (size - 1) / 2 if size % 2 == 0 else factor - 1
    line = 1.0 - abs(numpy.arange(size) - centre) / factor
    return functools.reduce(operator.mul, numpy.ix_(*[line] * ndim))


class _SamplingFilter(Initializer):
    """Channel i of the output gets channel i of the input, filtered.

    The array is (channels, channels or 1, k, …, k); other sizes raise AssertionError or ValueError.
    """

    _normalized = False

    def __init__(self, interpolation="linear", dtype=None):
        if interpolation != "linear":
            raise ValueError(f"Unsupported interpolation method: {interpolation}")
        super().__init__(dtype)

    def __call__(self, array):
        self._check_dtype(array)
        channels, other = array.shape[:2]
        assert other in (channels, 1), f"shape {array.shape}"
        sizes = array.shape[2:]
        if len(set(sizes)) != 1:
            raise ValueError(f"ksize must be all same: {' != '.join(map(str, sizes))}")
        values = _linear_filter(sizes[0], len(sizes))
        if self._normalized:
            values /= values.sum()
        xp = backend.get_array_module(array)
        index = xp.arange(channels)
        array[...] = 0.0
        array[index, 0 if other == 1 else index] = xp.asarray(values)


class UpsamplingDeconvFilter(_SamplingFilter):
    """For a transposed convolution of stride ``(k + 1) // 2``. Long et al., https://arxiv.org/abs/1411.4038."""


class DownsamplingConvFilter(_SamplingFilter):
    """For a convolution of stride ``(k + 1) // 2``; the filter's sum is 1. Long et al., as above."""

    _normalized = True
