"""Chi-square distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.utils import cache

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Chisquare"]


class Chisquare(Parametric):
    """Chi-square distribution: of the sum of the squares of `k` standard normal numbers.

    Args:
        k: floating or integers, any shape: degrees of freedom.

    Example:
        >>> d = chainer.distributions.Chisquare(np.array(3.0))
        >>> d.mean.array, d.variance.array
        (array(3.), array(6.))

    Source: `chainer.distributions.Chisquare` of Chainer 7.8.1.
    """

    support = "positive"

    def __init__(self, k: VariableOrArray) -> None:
        self._set(k=k)

    _half_k = statistic(lambda self: 0.5 * self.k)
    mean = statistic(lambda self: self.k)
    variance = statistic(lambda self: 2 * self.k)

    @cache.cached_property
    def entropy(self):
        half = self._half_k
        return half + math.log(2) + F.lgamma(half) + (1 - half) * F.digamma(half)

    def log_prob(self, x: VariableOrArray) -> Variable:
        half = self._half_k
        return (half - 1) * F.log(x) - 0.5 * x - F.lgamma(half) - half * math.log(2)

    def sample_n(self, n: int) -> Variable:
        return chainer.Variable(self._draw(n, "chisquare", self.k))
