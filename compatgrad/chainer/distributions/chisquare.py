"""Chi-square distribution."""

import math

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distributions._parametric import Parametric
from compatgrad.chainer.utils import cache


class Chisquare(Parametric):
    """Chi-square distribution with `k` degrees of freedom."""

    support = "positive"

    def __init__(self, k):
        self._set(k=k)

    @cache.cached_property
    def _half_k(self):
        return 0.5 * self.k

    @property
    def mean(self):
        return self.k

    @cache.cached_property
    def variance(self):
        return 2 * self.k

    @cache.cached_property
    def entropy(self):
        half = self._half_k
        return half + math.log(2) + F.lgamma(half) + (1 - half) * F.digamma(half)

    def log_prob(self, x):
        half = self._half_k
        return (half - 1) * F.log(x) - 0.5 * x - F.lgamma(half) - half * math.log(2)

    def sample_n(self, n):
        return chainer.Variable(self._draw(n, "chisquare", self.k))
