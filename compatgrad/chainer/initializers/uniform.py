"""Initializers that draw from uniform distributions around 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer.initializers._random import _Random, _Scaled

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import DType


class _UniformDraw:
    def _draw(self, random, shape, scale):
        return random.uniform(low=-scale, high=scale, size=shape)


class Uniform(_UniformDraw, _Random):
    """Draws from the uniform distribution between -scale and scale.

    Args:
        scale: half the width.
        dtype: dtype that the array must have; None takes an array of any.
        **kwargs: `rng`, a `RandomState` of the array's module from which values are drawn; without it they come from
            that module's global generator, which its `seed` sets.

    Raises:
        TypeError: a keyword other than `rng`.
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> w = np.empty((100, 100), np.float32)
        >>> chainer.initializers.Uniform(rng=np.random.RandomState(0))(w)
        >>> bool((abs(w) <= 0.05).all())
        True

    Source: `chainer.initializers.Uniform` of Chainer 7.8.1.
    """

    def __init__(self, scale: float = 0.05, dtype: DType | None = None, **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)


class LeCunUniform(_UniformDraw, _Scaled):
    """Draws from the uniform distribution between -s and s with s = scale * sqrt(3 / fan_in).

    fan_in is the number of inputs of a unit, shape[1] * shape[2] * ...; fan_out that of the outputs, shape[0] *
    shape[2] * ...; the array has the shape (outputs, inputs, ...).

    Args:
        scale: factor of the width.
        dtype: dtype that the array must have; None takes an array of any.
        **kwargs: `rng`, a `RandomState` of the array's module from which values are drawn; without it they come from
            that module's global generator, which its `seed` sets.

    Raises:
        ValueError: when called, the array has fewer than two axes.
        TypeError: a keyword other than `rng`.
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> w = np.empty((50, 300), np.float32)
        >>> chainer.initializers.LeCunUniform(rng=np.random.RandomState(0))(w)
        >>> round(float(w.max()), 2)  # sqrt(3 / 300)
        0.1

    Source: `chainer.initializers.LeCunUniform` of Chainer 7.8.1; Y. LeCun et al., Efficient BackProp, 1998.
    """

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(3.0 / fan_in)


class GlorotUniform(_UniformDraw, _Scaled):
    """Draws from the uniform distribution between -s and s with s = scale * sqrt(6 / (fan_in + fan_out)).

    fan_in is the number of inputs of a unit, shape[1] * shape[2] * ...; fan_out that of the outputs, shape[0] *
    shape[2] * ...; the array has the shape (outputs, inputs, ...).

    Args:
        scale: factor of the width.
        dtype: dtype that the array must have; None takes an array of any.
        **kwargs: `rng`, a `RandomState` of the array's module from which values are drawn; without it they come from
            that module's global generator, which its `seed` sets.

    Raises:
        ValueError: when called, the array has fewer than two axes.
        TypeError: a keyword other than `rng`.
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> w = np.empty((200, 400), np.float32)
        >>> chainer.initializers.GlorotUniform(rng=np.random.RandomState(0))(w)
        >>> round(float(w.max()), 2)  # sqrt(6 / 600)
        0.1

    Source: `chainer.initializers.GlorotUniform` of Chainer 7.8.1; X. Glorot and Y. Bengio, AISTATS 2010.
    """

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(6.0 / (fan_in + fan_out))


class HeUniform(_UniformDraw, _Scaled):
    """Draws from the uniform distribution between -s and s with s = scale * sqrt(6 / fan_in).

    fan_in is the number of inputs of a unit, shape[1] * shape[2] * ...; fan_out that of the outputs, shape[0] *
    shape[2] * ...; the array has the shape (outputs, inputs, ...).

    Args:
        scale: factor of the width.
        dtype: dtype that the array must have; None takes an array of any.
        **kwargs: `rng`, a `RandomState` of the array's module from which values are drawn; without it they come from
            that module's global generator, which its `seed` sets.

    Raises:
        ValueError: when called, the array has fewer than two axes.
        TypeError: a keyword other than `rng`.
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> w = np.empty((50, 600), np.float32)
        >>> chainer.initializers.HeUniform(rng=np.random.RandomState(0))(w)
        >>> round(float(w.max()), 2)  # sqrt(6 / 600)
        0.1

    Source: `chainer.initializers.HeUniform` of Chainer 7.8.1; K. He et al., 2015, https://arxiv.org/abs/1502.01852.
    """

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(6.0 / fan_in)
