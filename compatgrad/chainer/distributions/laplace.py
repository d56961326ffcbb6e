"""Laplace distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from compatgrad.chainer import function_node
from compatgrad.chainer import functions as F
from compatgrad.chainer.backend import get_array_module
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.utils import (
    cache,  # noqa: F401  programs find it here, as in Chainer
    force_array,
)

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Laplace"]


class _LaplaceCdf(function_node.FunctionNode):
    """`cdf` of the standard distribution, one function node: composed of |x|, its gradient at 0 would be wrong."""

    def forward(self, inputs):
        (x,) = inputs
        xp = get_array_module(x)
        self.retain_outputs((0,))
        return (force_array(0.5 - 0.5 * xp.sign(x) * xp.expm1(-abs(x)), x.dtype),)

    def backward(self, indexes, grad_outputs):
        (y,) = self.get_retained_outputs()
        return (grad_outputs[0] * (0.5 - abs(y - 0.5)),)


class _LaplaceIcdf(function_node.FunctionNode):
    """The inverse of `_LaplaceCdf`."""

    def forward(self, inputs):
        (x,) = inputs
        xp = get_array_module(x)
        self.retain_inputs((0,))
        centred = 1 - 2 * x
        return (force_array(xp.sign(centred) * xp.log1p(-abs(centred)), x.dtype),)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (grad_outputs[0] / (0.5 - abs(x - 0.5)),)


def _laplace_cdf(x):
    return _LaplaceCdf().apply((x,))[0]


def _laplace_icdf(x):
    return _LaplaceIcdf().apply((x,))[0]


class Laplace(Parametric):
    """Laplace distribution: the density exp(-|x - loc| / scale) / (2 scale).

    Args:
        loc: floating, any shape: the centre.
        scale: floating, positive, of the shape of `loc`: the distance from `loc` at which the density has fallen to 1/e
            of its maximum.

    Example:
        >>> d = chainer.distributions.Laplace(np.array(0.0), np.array(1.0))
        >>> d.variance.array, float(d.cdf(np.array(1.0)).array.round(4))
        (array(2.), 0.8161)

    Source: `chainer.distributions.Laplace` of Chainer 7.8.1.
    """

    support = "real"

    def __init__(self, loc: VariableOrArray, scale: VariableOrArray) -> None:
        self._set(loc=loc, scale=scale)

    mean = statistic(lambda self: self.loc)

    mode = mean
    stddev = statistic(lambda self: math.sqrt(2) * self.scale)
    variance = statistic(lambda self: 2 * self.scale**2)
    entropy = statistic(lambda self: 1.0 + F.log(2 * self.scale))

    def log_prob(self, x: VariableOrArray) -> Variable:
        return -F.log(2 * self.scale) - abs(x - self.loc) / self.scale

    def cdf(self, x: VariableOrArray) -> Variable:
        return _laplace_cdf((x - self.loc) / self.scale)

    def icdf(self, x: VariableOrArray) -> Variable:
        return self.loc + self.scale * _laplace_icdf(x)

    def sample_n(self, n: int) -> Variable:
        return self.scale * self._draw(n, "laplace") + self.loc


@register_kl(Laplace, Laplace)
def _kl(dist1, dist2):
    distance = abs(dist1.loc - dist2.loc)
    ratio = dist1.scale / dist2.scale
    return -F.log(ratio) + distance / dist2.scale + ratio * F.exp(-distance / dist1.scale) - 1
