"""Categorical distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Multivariate, one_of, statistic
from compatgrad.chainer.distributions._parts import array_of, categorical_kl, choices
from compatgrad.chainer.distributions.utils import _modified_xlogx
from compatgrad.chainer.utils import argument, cache

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Categorical"]


class Categorical(Multivariate):
    """Distribution of the indices 0 to k - 1.

    Args:
        p: floating, (..., k): probabilities of k indices, whose sums are 1. It or `logit` is given.
        **kwargs: `logit`, floating, (..., k): the probabilities are its softmax.

    Raises:
        ValueError: both or neither of `p` and `logit` are given.
        TypeError: there is an unknown option.

    Example:
        >>> d = chainer.distributions.Categorical(np.array([0.5, 0.25, 0.25]))
        >>> d.prob(np.array(1)).array, float(d.entropy.array.round(4))
        (array(0.25), 1.0397)

    Source: `chainer.distributions.Categorical` of Chainer 7.8.1.
    """

    event_shape = ()

    def __init__(self, p: VariableOrArray | None = None, **kwargs: Any) -> None:
        (logit,) = argument.parse_kwargs(kwargs, ("logit", None))
        if one_of(p=p, logit=logit) == "p":
            self._set(p=p)
        else:
            self._set(_logit=logit)

    p = statistic(lambda self: self._params["p"] if "p" in self._params else F.exp(self.log_p))

    @cache.cached_property
    def log_p(self):
        return F.log(self._params["p"]) if "p" in self._params else F.log_softmax(self._logit, axis=-1)

    @property
    def params(self):
        return {"p": self.p}

    entropy = statistic(lambda self: -F.sum(_modified_xlogx(self.p), axis=-1))

    def log_prob(self, x: VariableOrArray) -> Variable:
        batch = numpy.meshgrid(*map(range, self.batch_shape), indexing="ij")
        return self.log_p[(*batch, array_of(x).astype(numpy.int32))]

    def sample_n(self, n: int) -> Variable:
        return chainer.Variable(choices(self.p.array, n))


register_kl(Categorical, Categorical)(categorical_kl)
