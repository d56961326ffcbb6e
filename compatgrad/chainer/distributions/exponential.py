"""Exponential distribution."""

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric
from compatgrad.chainer.distributions.utils import array_of, within
from compatgrad.chainer.utils import cache


class Exponential(Parametric):
    """Exponential distribution with rate `lam`."""

    support = "positive"

    def __init__(self, lam):
        self._set(lam=lam)

    @cache.cached_property
    def _log_lam(self):
        return F.log(self.lam)

    @cache.cached_property
    def mean(self):
        return 1 / self.lam

    @cache.cached_property
    def variance(self):
        return self.mean**2

    @cache.cached_property
    def entropy(self):
        return 1 - self._log_lam

    def log_prob(self, x):
        return within(array_of(x) >= 0, self._log_lam - self.lam * x)

    def cdf(self, x):
        return -F.expm1(-self.lam * x)

    def icdf(self, x):
        return -F.log1p(-chainer.as_variable(x)) / self.lam

    def sample_n(self, n):
        return self._draw(n, "standard_exponential") / self.lam


@register_kl(Exponential, Exponential)
def _kl(dist1, dist2):
    return dist1._log_lam - dist2._log_lam + dist2.lam / dist1.lam - 1.0
