"""Cauchy distribution."""

import math
import warnings

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distributions._parametric import Parametric
from compatgrad.chainer.utils import cache


class Cauchy(Parametric):
    """Cauchy distribution around `loc`, with half the maximal density at a distance of `scale`."""

    support = "real"

    def __init__(self, loc, scale):
        self._set(loc=loc, scale=scale)

    def _undefined(self, what):
        warnings.warn(f"{what} of the cauchy distribution is undefined.", RuntimeWarning, stacklevel=4)
        return chainer.as_variable(self.xp.full_like(self.loc.array, math.nan))

    @cache.cached_property
    def mean(self):
        return self._undefined("Mean")

    @cache.cached_property
    def variance(self):
        return self._undefined("Variance")

    @cache.cached_property
    def entropy(self):
        return F.log(4 * math.pi * self.scale)

    def log_prob(self, x):
        return F.log(self.scale) - math.log(math.pi) - F.log((x - self.loc) ** 2 + self.scale**2)

    def cdf(self, x):
        return F.arctan((x - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, x):
        return self.loc + self.scale * F.tan(math.pi * (chainer.as_variable(x) - 0.5))

    def sample_n(self, n):
        return self.scale * self._draw(n, "standard_cauchy") + self.loc
