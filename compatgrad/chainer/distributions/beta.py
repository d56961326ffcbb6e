"""Beta distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.distributions._parts import log_beta, within
from compatgrad.chainer.utils import cache

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Beta"]


class Beta(Parametric):
    """Beta distribution: a density proportional to x ** (a - 1) * (1 - x) ** (b - 1) on [0, 1].

    Args:
        a, b: floating, positive, of one shape.

    Example:
        >>> d = chainer.distributions.Beta(np.array(2.0), np.array(1.0))
        >>> float(d.mean.array.round(4)), float(d.prob(np.array(0.5)).array.round(4))
        (0.6667, 1.0)

    Source: `chainer.distributions.Beta` of Chainer 7.8.1.
    """

    support = "[0, 1]"

    def __init__(self, a: VariableOrArray, b: VariableOrArray) -> None:
        self._set(a=a, b=b)

    _a_plus_b = statistic(lambda self: self.a + self.b)
    mean = statistic(lambda self: self.a / self._a_plus_b)

    @cache.cached_property
    def variance(self):
        total = self._a_plus_b
        return self.a * self.b / total**2 / (total + 1)

    @cache.cached_property
    def entropy(self):
        a, b, total = self.a, self.b, self._a_plus_b
        parts = (a - 1) * F.digamma(a) + (b - 1) * F.digamma(b)
        return log_beta(a, b) - parts + (total - 2) * F.digamma(total)

    def log_prob(self, x: VariableOrArray) -> Variable:
        x = chainer.as_variable(x)
        log_prob = (self.a - 1) * F.log(x) + (self.b - 1) * F.log(1 - x) - log_beta(self.a, self.b)
        return within((x.array >= 0) & (x.array <= 1), log_prob)

    def sample_n(self, n: int) -> Variable:
        return chainer.Variable(self._draw(n, "beta", self.a, self.b))


@register_kl(Beta, Beta)
def _kl(dist1, dist2):
    p, q = dist1, dist2
    parts = (p.a - q.a) * F.digamma(p.a) + (p.b - q.b) * F.digamma(p.b)
    total = (q._a_plus_b - p._a_plus_b) * F.digamma(p._a_plus_b)
    return log_beta(q.a, q.b) - log_beta(p.a, p.b) + parts + total
