"""Poisson distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.distributions._parts import array_of
from compatgrad.chainer.utils import cache  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Poisson"]


class Poisson(Parametric):
    """Poisson distribution of counts: the probability lam ** x * exp(-lam) / x!. Samples are float32.

    Args:
        lam: floating, positive, any shape: mean.

    Example:
        >>> d = chainer.distributions.Poisson(np.array(2.0))
        >>> d.variance.array, float(d.prob(np.array(0.0)).array.round(4))
        (array(2.), 0.1353)

    Source: `chainer.distributions.Poisson` of Chainer 7.8.1.
    """

    support = "non negative integer"

    def __init__(self, lam: VariableOrArray) -> None:
        self._set(lam=lam)

    _log_lam = statistic(lambda self: F.log(self.lam))
    mean = statistic(lambda self: self.lam)

    variance = mean

    def log_prob(self, x: VariableOrArray) -> Variable:
        x = self.xp.asarray(array_of(x), dtype=self.lam.dtype)
        return self._log_lam * x - F.lgamma(self.xp.asarray(x + 1, dtype=x.dtype)) - self.lam

    def sample_n(self, n: int) -> Variable:
        return chainer.Variable(self._draw(n, "poisson", self.lam, dtype=numpy.float32))


@register_kl(Poisson, Poisson)
def _kl(dist1, dist2):
    return dist1.lam * (dist1._log_lam - dist2._log_lam) - dist1.lam + dist2.lam
