"""Poisson distribution."""

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric
from compatgrad.chainer.distributions.utils import array_of
from compatgrad.chainer.utils import cache


class Poisson(Parametric):
    """Poisson distribution with mean `lam`. Samples are float32."""

    support = "non negative integer"

    def __init__(self, lam):
        self._set(lam=lam)

    @cache.cached_property
    def _log_lam(self):
        return F.log(self.lam)

    @property
    def mean(self):
        return self.lam

    variance = mean

    def log_prob(self, x):
        x = self.xp.asarray(array_of(x), dtype=self.lam.dtype)
        return self._log_lam * x - F.lgamma(self.xp.asarray(x + 1, dtype=x.dtype)) - self.lam

    def sample_n(self, n):
        return chainer.Variable(self._draw(n, "poisson", self.lam, dtype=numpy.float32))


@register_kl(Poisson, Poisson)
def _kl(dist1, dist2):
    return dist1.lam * (dist1._log_lam - dist2._log_lam) - dist1.lam + dist2.lam
