"""Initializers that draw from normal distributions around 0."""

import numpy

from compatgrad.chainer.initializers._random import _Random, _Scaled


class _NormalDraw:
    def _draw(self, random, shape, scale):
        return random.normal(loc=0.0, scale=scale, size=shape)


class Normal(_NormalDraw, _Random):
    """Standard deviation `scale`. `rng` is a random state, by default the array module's global one."""

    def __init__(self, scale=0.05, dtype=None, **kwargs):
        super().__init__(scale, dtype, kwargs)


class LeCunNormal(_NormalDraw, _Scaled):
    """Standard deviation ``scale * sqrt(1 / fan_in)``. LeCun et al. 1998, Efficient BackProp."""

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(1.0 / fan_in)


class GlorotNormal(_NormalDraw, _Scaled):
    """Standard deviation ``scale * sqrt(2 / (fan_in + fan_out))``. Glorot and Bengio, AISTATS 2010."""

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(2.0 / (fan_in + fan_out))


class HeNormal(_NormalDraw, _Scaled):
    """Standard deviation ``scale * sqrt(2 / fan)``. He et al., https://arxiv.org/abs/1502.01852.

    `fan_option`, ``'fan_in'`` or ``'fan_out'``, says which fan; another one raises ValueError when called.
    """

    def __init__(self, scale=1.0, dtype=None, fan_option="fan_in", **kwargs):
        self.fan_option = fan_option
        super().__init__(scale, dtype, **kwargs)

    def _width(self, fan_in, fan_out):
        if self.fan_option not in ("fan_in", "fan_out"):
            raise ValueError(f"fan_option should be either 'fan_in' or 'fan_out', not {self.fan_option!r}.")
        return numpy.sqrt(2.0 / (fan_in if self.fan_option == "fan_in" else fan_out))
