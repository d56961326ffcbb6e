"""Dirichlet distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Multivariate, statistic
from compatgrad.chainer.utils import cache

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Dirichlet"]


class Dirichlet(Multivariate):
    """Dirichlet distribution of probabilities: a density proportional to the product of x_i ** (alpha_i - 1).

    Args:
        alpha: floating, positive, (..., k): concentrations. An event is a vector of length k.

    Example:
        >>> d = chainer.distributions.Dirichlet(np.array([1.0, 3.0]))
        >>> d.mean.array, d.batch_shape, d.event_shape
        (array([0.25, 0.75]), (), (2,))

    Source: `chainer.distributions.Dirichlet` of Chainer 7.8.1.
    """

    support = "[0, 1]"

    def __init__(self, alpha: VariableOrArray) -> None:
        self._set(alpha=alpha)

    alpha0 = statistic(lambda self: F.sum(self.alpha, axis=-1))
    _total = statistic(lambda self: F.expand_dims(self.alpha0, axis=-1))
    _log_beta = statistic(lambda self: F.sum(F.lgamma(self.alpha), axis=-1) - F.lgamma(self.alpha0))
    mean = statistic(lambda self: self.alpha / F.broadcast_to(self._total, self.alpha.shape))
    variance = statistic(lambda self: self.mean * (1 - self.mean) / F.broadcast_to(self._total + 1, self.alpha.shape))

    @cache.cached_property
    def entropy(self):
        parts = F.sum((self.alpha - 1) * F.digamma(self.alpha), axis=-1)
        return self._log_beta + (self.alpha0 - self.alpha.shape[-1]) * F.digamma(self.alpha0) - parts

    def log_prob(self, x: VariableOrArray) -> Variable:
        return F.sum((self.alpha - 1) * F.log(x), axis=-1) - self._log_beta

    def sample_n(self, n: int) -> Variable:
        alpha, xp = self.alpha.array, self.xp
        drawn = [xp.random.dirichlet(row, size=(n,)) for row in alpha.reshape(-1, alpha.shape[-1])]
        return chainer.Variable(xp.stack(drawn, axis=1).reshape(n, *alpha.shape).astype(alpha.dtype))


@register_kl(Dirichlet, Dirichlet)
def _kl(dist1, dist2):
    expected = F.digamma(dist1.alpha) - F.broadcast_to(F.digamma(dist1._total), dist1.alpha.shape)
    return dist2._log_beta - dist1._log_beta + F.sum((dist1.alpha - dist2.alpha) * expected, axis=-1)
