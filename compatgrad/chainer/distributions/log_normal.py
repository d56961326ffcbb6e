"""Log-normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.distributions._parts import LOG_ROOT_2PI
from compatgrad.chainer.utils import cache  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["LogNormal"]


class LogNormal(Parametric):
    """Distribution of a number whose logarithm is normal.

    Args:
        mu: floating, any shape: mean of the logarithm.
        sigma: floating, positive, of the shape of `mu`: standard deviation of the logarithm.

    Example:
        >>> d = chainer.distributions.LogNormal(np.array(0.0), np.array(1.0))
        >>> float(d.mean.array.round(4)), float(d.prob(np.array(1.0)).array.round(4))
        (1.6487, 0.3989)

    Source: `chainer.distributions.LogNormal` of Chainer 7.8.1.
    """

    support = "positive"

    def __init__(self, mu: VariableOrArray, sigma: VariableOrArray) -> None:
        self._set(mu=mu, sigma=sigma)

    _log_sigma = statistic(lambda self: F.log(self.sigma))
    mean = statistic(lambda self: F.exp(self.mu + 0.5 * self.sigma**2))
    variance = statistic(lambda self: F.exp(2 * self.mu + self.sigma**2) * F.expm1(self.sigma**2))
    entropy = statistic(lambda self: 0.5 + LOG_ROOT_2PI + self._log_sigma + self.mu)

    def log_prob(self, x: VariableOrArray) -> Variable:
        y = F.log(x)
        return -LOG_ROOT_2PI - self._log_sigma - y - 0.5 * (y - self.mu) ** 2 / self.sigma**2

    def sample_n(self, n: int) -> Variable:
        return F.exp(self.sigma * self._draw(n, "standard_normal") + self.mu)


@register_kl(LogNormal, LogNormal)
def _kl(dist1, dist2):
    distance = (dist1.mu - dist2.mu) ** 2 + dist1.sigma**2
    return 0.5 * distance / dist2.sigma**2 - 0.5 + dist2._log_sigma - dist1._log_sigma
