"""Gumbel distribution."""

import math

from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric
from compatgrad.chainer.distributions.utils import EULER
from compatgrad.chainer.utils import cache


class Gumbel(Parametric):
    """Gumbel distribution with mode `loc` and width `scale`."""

    support = "real"

    def __init__(self, loc, scale):
        self._set(loc=loc, scale=scale)

    @cache.cached_property
    def _log_scale(self):
        return F.log(self.scale)

    @cache.cached_property
    def mean(self):
        return self.loc + EULER * self.scale

    @cache.cached_property
    def variance(self):
        return math.pi**2 / 6 * self.scale**2

    @cache.cached_property
    def entropy(self):
        return self._log_scale + (EULER + 1)

    def log_prob(self, x):
        y = (x - self.loc) / self.scale
        return -self._log_scale - y - F.exp(-y)

    def sample_n(self, n):
        return self.scale * self._draw(n, "gumbel") + self.loc


@register_kl(Gumbel, Gumbel)
def _kl(dist1, dist2):
    ratio, shift = dist1.scale / dist2.scale, (dist2.loc - dist1.loc) / dist2.scale
    moment = F.exp(shift + F.lgamma(ratio + 1.0))
    return dist2._log_scale - dist1._log_scale + EULER * (ratio - 1.0) + moment - 1 - shift
