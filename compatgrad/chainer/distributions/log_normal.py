"""Log-normal distribution."""

from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric
from compatgrad.chainer.distributions.utils import LOG_ROOT_2PI
from compatgrad.chainer.utils import cache


class LogNormal(Parametric):
    """Distribution of a number whose logarithm has the mean `mu` and the standard deviation `sigma`."""

    support = "positive"

    def __init__(self, mu, sigma):
        self._set(mu=mu, sigma=sigma)

    @cache.cached_property
    def _log_sigma(self):
        return F.log(self.sigma)

    @cache.cached_property
    def mean(self):
        return F.exp(self.mu + 0.5 * self.sigma**2)

    @cache.cached_property
    def variance(self):
        return F.exp(2 * self.mu + self.sigma**2) * F.expm1(self.sigma**2)

    @cache.cached_property
    def entropy(self):
        return 0.5 + LOG_ROOT_2PI + self._log_sigma + self.mu

    def log_prob(self, x):
        y = F.log(x)
        return -LOG_ROOT_2PI - self._log_sigma - y - 0.5 * (y - self.mu) ** 2 / self.sigma**2

    def sample_n(self, n):
        return F.exp(self.sigma * self._draw(n, "standard_normal") + self.mu)


@register_kl(LogNormal, LogNormal)
def _kl(dist1, dist2):
    distance = (dist1.mu - dist2.mu) ** 2 + dist1.sigma**2
    return 0.5 * distance / dist2.sigma**2 - 0.5 + dist2._log_sigma - dist1._log_sigma
