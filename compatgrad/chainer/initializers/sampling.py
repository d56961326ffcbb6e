"""Filters of (transposed) convolutions that interpolate linearly."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.initializer import Initializer

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import DType

__all__ = ["DownsamplingConvFilter", "UpsamplingDeconvFilter"]


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

    def __init__(self, interpolation: str = "linear", dtype: DType | None = None):
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
    """Fills the filter of a transposed convolution so that it interpolates linearly: with the stride (k + 1) // 2 it
    enlarges images by that factor.

    The array has the shape (channels, channels or 1, k, ..., k). Channel i of the output gets channel i of the input
    alone.

    Args:
        interpolation: "linear", the only method.
        dtype: dtype that the array must have; None takes an array of any.

    Raises:
        ValueError: `interpolation` is not "linear"; when called, the sizes after the channels differ.
        AssertionError: when called, the second axis is neither 1 nor as long as the first, or the array's dtype is not
            `dtype`.

    Example:
        >>> bilinear = chainer.initializers.UpsamplingDeconvFilter()
        >>> up = L.Deconvolution2D(1, 1, ksize=4, stride=2, pad=1, initialW=bilinear)
        >>> up.W.array[0, 0]
        array([[0.0625, 0.1875, 0.1875, 0.0625],
               [0.1875, 0.5625, 0.5625, 0.1875],
               [0.1875, 0.5625, 0.5625, 0.1875],
               [0.0625, 0.1875, 0.1875, 0.0625]], dtype=float32)

    Source: `chainer.initializers.UpsamplingDeconvFilter` of Chainer 7.8.1; J. Long et al., 2014,
    https://arxiv.org/abs/1411.4038.
    """


class DownsamplingConvFilter(_SamplingFilter):
    """Fills the filter of a convolution with the weights of linear interpolation, whose sum is 1: with the stride (k +
    1) // 2 it reduces images by that factor.

    The array has the shape (channels, channels or 1, k, ..., k). Channel i of the output gets channel i of the input
    alone.

    Args:
        interpolation: "linear", the only method.
        dtype: dtype that the array must have; None takes an array of any.

    Raises:
        ValueError: `interpolation` is not "linear"; when called, the sizes after the channels differ.
        AssertionError: when called, the second axis is neither 1 nor as long as the first, or the array's dtype is not
            `dtype`.

    Example:
        >>> down = L.Convolution2D(1, 1, ksize=3, stride=2, initialW=chainer.initializers.DownsamplingConvFilter())
        >>> down.W.array[0, 0]
        array([[0.0625, 0.125 , 0.0625],
               [0.125 , 0.25  , 0.125 ],
               [0.0625, 0.125 , 0.0625]], dtype=float32)

    Source: `chainer.initializers.DownsamplingConvFilter` of Chainer 7.8.1; J. Long et al., 2014,
    https://arxiv.org/abs/1411.4038.
    """

    _normalized = True
