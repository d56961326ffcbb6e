"""Gamma distribution."""

from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric
from compatgrad.chainer.distributions.utils import array_of, within
from compatgrad.chainer.utils import cache


class Gamma(Parametric):
    """Gamma distribution with shape `k` and scale `theta`."""

    support = "positive"

    def __init__(self, k, theta):
        self._set(k=k, theta=theta)

    @cache.cached_property
    def mean(self):
        return self.k * self.theta

    @cache.cached_property
    def variance(self):
        return self.mean * self.theta

    @cache.cached_property
    def entropy(self):
        return self.k + F.log(self.theta) + F.lgamma(self.k) + (1 - self.k) * F.digamma(self.k)

    def log_prob(self, x):
        scale = F.lgamma(self.k) + self.k * F.log(self.theta)
        return within(array_of(x) >= 0, (self.k - 1) * F.log(x) - x / self.theta - scale)

    def sample_n(self, n):
        return self._draw(n, "gamma", self.k) * self.theta


@register_kl(Gamma, Gamma)
def _kl(dist1, dist2):
    shapes = (dist1.k - dist2.k) * F.digamma(dist1.k) - F.lgamma(dist1.k) + F.lgamma(dist2.k)
    scales = dist2.k * (F.log(dist2.theta) - F.log(dist1.theta)) + dist1.k * (dist1.theta / dist2.theta - 1)
    return shapes + scales
