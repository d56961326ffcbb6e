"""Gamma distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.distributions._parts import array_of, within
from compatgrad.chainer.utils import cache  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Gamma"]


class Gamma(Parametric):
    """Gamma distribution: a density proportional to x ** (k - 1) * exp(-x / theta) for x >= 0.

    Args:
        k: floating, positive, any shape: shape.
        theta: floating, positive, of the shape of `k`: scale.

    Example:
        >>> d = chainer.distributions.Gamma(np.array(2.0), np.array(3.0))
        >>> d.mean.array, d.variance.array
        (array(6.), array(18.))

    Source: `chainer.distributions.Gamma` of Chainer 7.8.1.
    """

    support = "positive"

    def __init__(self, k: VariableOrArray, theta: VariableOrArray) -> None:
        self._set(k=k, theta=theta)

    mean = statistic(lambda self: self.k * self.theta)
    variance = statistic(lambda self: self.mean * self.theta)
    entropy = statistic(lambda self: self.k + F.log(self.theta) + F.lgamma(self.k) + (1 - self.k) * F.digamma(self.k))

    def log_prob(self, x: VariableOrArray) -> Variable:
        scale = F.lgamma(self.k) + self.k * F.log(self.theta)
        return within(array_of(x) >= 0, (self.k - 1) * F.log(x) - x / self.theta - scale)

    def sample_n(self, n: int) -> Variable:
        return self._draw(n, "gamma", self.k) * self.theta


@register_kl(Gamma, Gamma)
def _kl(dist1, dist2):
    shapes = (dist1.k - dist2.k) * F.digamma(dist1.k) - F.lgamma(dist1.k) + F.lgamma(dist2.k)
    scales = dist2.k * (F.log(dist2.theta) - F.log(dist1.theta)) + dist1.k * (dist1.theta / dist2.theta - 1)
    return shapes + scales
