"""One-hot categorical distribution."""

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Multivariate
from compatgrad.chainer.distributions.utils import categorical_kl, choices
from compatgrad.chainer.utils import cache


class OneHotCategorical(Multivariate):
    """Distribution of unit vectors, with the probabilities along the last axis of `p`."""

    def __init__(self, p):
        self._set(p=p)

    @cache.cached_property
    def log_p(self):
        return F.log(self.p)

    @property
    def mean(self):
        return self.p

    @cache.cached_property
    def variance(self):
        return self.p * (1.0 - self.p)

    def log_prob(self, x):
        return F.sum(self.log_p * x, axis=-1)

    def sample_n(self, n):
        p = self.p.array
        return chainer.Variable(self.xp.eye(p.shape[-1], dtype=p.dtype)[choices(p, n)])


register_kl(OneHotCategorical, OneHotCategorical)(categorical_kl)
