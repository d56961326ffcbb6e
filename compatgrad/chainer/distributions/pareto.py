"""Pareto distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.distributions._parts import within
from compatgrad.chainer.utils import cache

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Pareto"]


class Pareto(Parametric):
    """Pareto distribution: a density proportional to 1 / x ** (alpha + 1) for x >= `scale`.

    Args:
        scale: floating, positive, any shape: the smallest value.
        alpha: floating, positive, of the shape of `scale`: exponent.

    Example:
        >>> d = chainer.distributions.Pareto(np.array(1.0), np.array(3.0))
        >>> d.mean.array, d.variance.array
        (array(1.5), array(0.75))

    Source: `chainer.distributions.Pareto` of Chainer 7.8.1.
    """

    support = "[scale, inf]"

    def __init__(self, scale: VariableOrArray, alpha: VariableOrArray) -> None:
        self._set(scale=scale, alpha=alpha)

    _log_scale = statistic(lambda self: F.log(self.scale))
    _log_alpha = statistic(lambda self: F.log(self.alpha))
    mean = statistic(lambda self: -within(self.alpha.array > 1, -(self.alpha * self.scale / (self.alpha - 1))))

    @cache.cached_property
    def variance(self):
        a = self.alpha
        return -within(a.array > 2, -(self.scale**2 * a / (a - 1) ** 2 / (a - 2)))

    entropy = statistic(lambda self: self._log_scale - self._log_alpha + 1.0 / self.alpha + 1.0)

    def log_prob(self, x: VariableOrArray) -> Variable:
        x = chainer.as_variable(x)
        log_prob = self._log_alpha + self.alpha * self._log_scale - (self.alpha + 1) * F.log(x)
        return within(x.array >= self.scale.array, log_prob)

    def sample_n(self, n: int) -> Variable:
        return self.scale * (self._draw(n, "pareto", self.alpha) + 1)


@register_kl(Pareto, Pareto)
def _kl(dist1, dist2):
    scales = dist2.alpha * (dist1._log_scale - dist2._log_scale)
    kl = scales + dist1._log_alpha - dist2._log_alpha + (dist2.alpha - dist1.alpha) / dist1.alpha
    return -within(dist1.scale.array >= dist2.scale.array, -kl)
