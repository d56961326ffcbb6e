"""Initializers that draw from normal distributions around 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer.initializers._random import _Random, _Scaled

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import DType


class _NormalDraw:
    def _draw(self, random, shape, scale):
        return random.normal(loc=0.0, scale=scale, size=shape)


class Normal(_NormalDraw, _Random):
    """Draws from the normal distribution of mean 0 and standard deviation `scale`.

    Args:
        scale: the standard deviation.
        dtype: dtype that the array must have; None takes an array of any.
        **kwargs: `rng`, a `RandomState` of the array's module from which values are drawn; without it they come from
            that module's global generator, which its `seed` sets.

    Raises:
        TypeError: a keyword other than `rng`.
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> w = np.empty((100, 100), np.float32)
        >>> chainer.initializers.Normal(rng=np.random.RandomState(0))(w)
        >>> round(float(w.std()), 3)
        0.049

    Source: `chainer.initializers.Normal` of Chainer 7.8.1.
    """

    def __init__(self, scale: float = 0.05, dtype: DType | None = None, **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)


class LeCunNormal(_NormalDraw, _Scaled):
    """Draws from the normal distribution of mean 0 and standard deviation scale * sqrt(1 / fan_in). It is the default
    of most links.

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
        >>> w = np.empty((50, 100), np.float32)
        >>> chainer.initializers.LeCunNormal(rng=np.random.RandomState(0))(w)
        >>> round(float(w.std()), 2)  # sqrt(1 / 100)
        0.1

    Source: `chainer.initializers.LeCunNormal` of Chainer 7.8.1; Y. LeCun et al., Efficient BackProp, 1998.
    """

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(1.0 / fan_in)


class GlorotNormal(_NormalDraw, _Scaled):
    """Draws from the normal distribution of mean 0 and standard deviation scale * sqrt(2 / (fan_in + fan_out)).

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
        >>> w = np.empty((60, 140), np.float32)
        >>> chainer.initializers.GlorotNormal(rng=np.random.RandomState(0))(w)
        >>> round(float(w.std()), 2)  # sqrt(2 / 200)
        0.1

    Source: `chainer.initializers.GlorotNormal` of Chainer 7.8.1; X. Glorot and Y. Bengio, AISTATS 2010.
    """

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(2.0 / (fan_in + fan_out))


class HeNormal(_NormalDraw, _Scaled):
    """Draws from the normal distribution of mean 0 and standard deviation scale * sqrt(2 / fan): layers with ReLU then
    keep the variance of their inputs.

    fan_in is the number of inputs of a unit, shape[1] * shape[2] * ...; fan_out that of the outputs, shape[0] *
    shape[2] * ...; the array has the shape (outputs, inputs, ...).

    Args:
        scale: factor of the width.
        dtype: dtype that the array must have; None takes an array of any.
        fan_option: which number is fan, "fan_in" or "fan_out"; another one raises ValueError when called.
        **kwargs: `rng`, a `RandomState` of the array's module from which values are drawn; without it they come from
            that module's global generator, which its `seed` sets.

    Raises:
        ValueError: when called, the array has fewer than two axes.
        TypeError: a keyword other than `rng`.
        AssertionError: when called, the array's dtype is not `dtype`.

    Example:
        >>> w = np.empty((50, 200), np.float32)
        >>> chainer.initializers.HeNormal(rng=np.random.RandomState(0))(w)
        >>> round(float(w.std()), 2)  # sqrt(2 / 200)
        0.1

    Source: `chainer.initializers.HeNormal` of Chainer 7.8.1; K. He et al., 2015, https://arxiv.org/abs/1502.01852.
    """

    def __init__(
        self, scale: float = 1.0, dtype: DType | None = None, fan_option: str = "fan_in", **kwargs: Any
    ) -> None:
        self.fan_option = fan_option
        super().__init__(scale, dtype, **kwargs)

    def _width(self, fan_in, fan_out):
        if self.fan_option not in ("fan_in", "fan_out"):
            raise ValueError(f"fan_option should be either 'fan_in' or 'fan_out', not {self.fan_option!r}.")
        return numpy.sqrt(2.0 / (fan_in if self.fan_option == "fan_in" else fan_out))
