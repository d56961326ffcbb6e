"""Geometric distribution."""

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric
from compatgrad.chainer.utils import cache


class Geometric(Parametric):
    """Distribution of the number of trials up to the first success, each of probability `p`."""

    support = "positive integer"

    def __init__(self, p):
        self._set(p=p)

    @cache.cached_property
    def _log_failure(self):
        return F.log1p(-self.p)

    @cache.cached_property
    def mean(self):
        return 1 / self.p

    @cache.cached_property
    def variance(self):
        return (1 - self.p) / self.p**2

    def log_prob(self, x):
        return (x - 1) * self._log_failure + F.log(self.p)

    def sample_n(self, n):
        return chainer.Variable(self._draw(n, "geometric", self.p))


@register_kl(Geometric, Geometric)
def _kl(dist1, dist2):
    failures = (1 / dist1.p - 1) * (dist1._log_failure - dist2._log_failure)
    return failures + F.log(dist1.p) - F.log(dist2.p)
