"""Exponential distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.distributions._parts import array_of, within
from compatgrad.chainer.utils import cache  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Exponential"]


class Exponential(Parametric):
    """Exponential distribution: the density lam * exp(-lam * x) for x >= 0.

    Args:
        lam: floating, positive, any shape: rate.

    Example:
        >>> d = chainer.distributions.Exponential(np.array(2.0))
        >>> d.mean.array, float(d.cdf(np.array(1.0)).array.round(4))
        (array(0.5), 0.8647)

    Source: `chainer.distributions.Exponential` of Chainer 7.8.1.
    """

    support = "positive"

    def __init__(self, lam: VariableOrArray) -> None:
        self._set(lam=lam)

    _log_lam = statistic(lambda self: F.log(self.lam))
    mean = statistic(lambda self: 1 / self.lam)
    variance = statistic(lambda self: self.mean**2)
    entropy = statistic(lambda self: 1 - self._log_lam)

    def log_prob(self, x: VariableOrArray) -> Variable:
        return within(array_of(x) >= 0, self._log_lam - self.lam * x)

    def cdf(self, x: VariableOrArray) -> Variable:
        return -F.expm1(-self.lam * x)

    def icdf(self, x: VariableOrArray) -> Variable:
        return -F.log1p(-chainer.as_variable(x)) / self.lam

    def sample_n(self, n: int) -> Variable:
        return self._draw(n, "standard_exponential") / self.lam


@register_kl(Exponential, Exponential)
def _kl(dist1, dist2):
    return dist1._log_lam - dist2._log_lam + dist2.lam / dist1.lam - 1.0
