"""Bernoulli distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import function_node
from compatgrad.chainer import functions as F
from compatgrad.chainer.backend import get_array_module
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, one_of, statistic
from compatgrad.chainer.distributions.utils import _modified_xlogx
from compatgrad.chainer.utils import cache, force_array

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Bernoulli"]


class _LogProb(function_node.FunctionNode):
    """Logarithm of the probability of x, from the logit. The gradient is NaN where the logit is infinite and, with
    `binary_check`, where x is neither 0 nor 1."""

    def __init__(self, binary_check=False):
        super().__init__()
        self.binary_check = binary_check

    def forward(self, inputs):
        logit, x = inputs
        xp = get_array_module(x)
        self.retain_inputs((0, 1))
        with numpy.errstate(divide="ignore", invalid="ignore", over="ignore"):
            y = logit * (x - 1) - xp.log1p(xp.exp(-logit))
            y = xp.where(xp.isposinf(logit), xp.log(x), y)
            y = xp.where(xp.isneginf(logit), xp.log1p(-x), y)
        if self.binary_check:
            y = xp.where((x == 0) | (x == 1), y, -xp.inf)
        return (force_array(y, logit.dtype),)

    def backward(self, indexes, grad_outputs):
        logit, x = self.get_retained_inputs()
        xp = logit.xp
        defined = xp.isfinite(logit.array)
        if self.binary_check:
            defined = defined & ((x.array == 0) | (x.array == 1))
        slope = x - F.sigmoid(logit)
        slope = F.where(xp.broadcast_to(defined, slope.shape), slope, xp.full_like(slope.array, xp.nan))
        return F.sum_to(grad_outputs[0] * slope, logit.shape), None


def _bernoulli_log_prob(logit, x, binary_check=False):
    return _LogProb(binary_check).apply((logit, _numbers(x, logit)))[0]


def _numbers(x, like):
    """x in the dtype of `like`: samples are integers, but their logarithmic probabilities are not."""
    return x if x.dtype == like.dtype else F.cast(chainer.as_variable(x), like.dtype)


class Bernoulli(Parametric):
    """Distribution of 0 and 1.

    Args:
        p: floating, any shape: probability of 1. It or `logit` is given.
        logit: floating, any shape: the probability of 1 is 1 / (1 + exp(-logit)).
        binary_check: True gives other values than 0 and 1 the probability 0.

    Raises:
        ValueError: both or neither of `p` and `logit` are given.

    Example:
        >>> d = chainer.distributions.Bernoulli(np.array([0.25, 0.5]))
        >>> d.mean.array, d.prob(np.array([1, 0])).array
        (array([0.25, 0.5 ]), array([0.25, 0.5 ]))

    Source: `chainer.distributions.Bernoulli` of Chainer 7.8.1.
    """

    support = "{0, 1}"

    def __init__(
        self, p: VariableOrArray | None = None, logit: VariableOrArray | None = None, binary_check: bool = False
    ) -> None:
        if one_of(p=p, logit=logit) == "p":
            self._set(p=p)
        else:
            self._set(logit=logit)
        self.binary_check = binary_check

    p = statistic(lambda self: self._params["p"] if "p" in self._params else F.sigmoid(self.logit))

    @cache.cached_property
    def logit(self):
        return self._params["logit"] if "logit" in self._params else F.log(self.p) - F.log1p(-self.p)

    @property
    def params(self):
        return {"logit": self.logit}

    mean = statistic(lambda self: self.p)
    variance = statistic(lambda self: self.p * (1 - self.p))
    entropy = statistic(lambda self: -_modified_xlogx(self.p) - _modified_xlogx(1 - self.p))

    def log_prob(self, x: VariableOrArray) -> Variable:
        return _bernoulli_log_prob(self.logit, x, self.binary_check)

    def prob(self, x: VariableOrArray) -> Variable:
        x = chainer.as_variable(_numbers(x, self.p))
        prob = x * self.p + (1 - x) * (1 - self.p)
        if self.binary_check:
            prob = prob * ((x.array == 0) | (x.array == 1)).astype(prob.dtype)
        return prob

    def sample_n(self, n: int) -> Variable:
        p = self.p.array
        return chainer.Variable(self.xp.random.binomial(1, p, size=(n, *p.shape)))


@register_kl(Bernoulli, Bernoulli)
def _kl(dist1, dist2):
    return (dist1.logit - dist2.logit) * (dist1.p - 1.0) - F.softplus(-dist1.logit) + F.softplus(-dist2.logit)
