"""Initializers that draw from uniform distributions around 0."""

import numpy

from compatgrad.chainer.initializers._random import _Random, _Scaled


class _UniformDraw:
    def _draw(self, random, shape, scale):
        return random.uniform(low=-scale, high=scale, size=shape)


class Uniform(_UniformDraw, _Random):
    """From -`scale` to `scale`. `rng` is a random state, by default the array module's global one."""

    def __init__(self, scale=0.05, dtype=None, **kwargs):
        super().__init__(scale, dtype, kwargs)


class LeCunUniform(_UniformDraw, _Scaled):
    """Up to ``scale * sqrt(3 / fan_in)``. LeCun et al. 1998, Efficient BackProp."""

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(3.0 / fan_in)


class GlorotUniform(_UniformDraw, _Scaled):
    """Up to ``scale * sqrt(6 / (fan_in + fan_out))``. Glorot and Bengio, AISTATS 2010."""

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(6.0 / (fan_in + fan_out))


class HeUniform(_UniformDraw, _Scaled):
    """Up to ``scale * sqrt(6 / fan_in)``. He et al., https://arxiv.org/abs/1502.01852."""

    def _width(self, fan_in, fan_out):
        return numpy.sqrt(6.0 / fan_in)
