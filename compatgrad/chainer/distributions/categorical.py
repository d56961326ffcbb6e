"""Categorical distribution."""

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Multivariate, one_of
from compatgrad.chainer.distributions.utils import _modified_xlogx, array_of, categorical_kl, choices
from compatgrad.chainer.utils import argument, cache


class Categorical(Multivariate):
    """Distribution of indices, with the probabilities along the last axis of `p`, or the softmax of `logit=`."""

    event_shape = ()

    def __init__(self, p=None, **kwargs):
        (logit,) = argument.parse_kwargs(kwargs, ("logit", None))
        if one_of(p=p, logit=logit) == "p":
            self._set(p=p)
        else:
            self._set(_logit=logit)

    @cache.cached_property
    def p(self):
        return self._params["p"] if "p" in self._params else F.exp(self.log_p)

    @cache.cached_property
    def log_p(self):
        return F.log(self._params["p"]) if "p" in self._params else F.log_softmax(self._logit, axis=-1)

    @property
    def params(self):
        return {"p": self.p}

    @cache.cached_property
    def entropy(self):
        return -F.sum(_modified_xlogx(self.p), axis=-1)

    def log_prob(self, x):
        batch = numpy.meshgrid(*map(range, self.batch_shape), indexing="ij")
        return self.log_p[(*batch, array_of(x).astype(numpy.int32))]

    def sample_n(self, n):
        return chainer.Variable(choices(self.p.array, n))


register_kl(Categorical, Categorical)(categorical_kl)
