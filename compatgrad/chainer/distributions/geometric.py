"""Geometric distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.utils import cache  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Geometric"]


class Geometric(Parametric):
    """Distribution of the number of trials up to and with the first success.

    Args:
        p: floating, in (0, 1), any shape: probability of success in a trial.

    Example:
        >>> d = chainer.distributions.Geometric(np.array(0.5))
        >>> d.mean.array, float(d.prob(np.array(3.0)).array.round(4))
        (array(2.), 0.125)

    Source: `chainer.distributions.Geometric` of Chainer 7.8.1.
    """

    support = "positive integer"

    def __init__(self, p: VariableOrArray) -> None:
        self._set(p=p)

    _log_failure = statistic(lambda self: F.log1p(-self.p))
    mean = statistic(lambda self: 1 / self.p)
    variance = statistic(lambda self: (1 - self.p) / self.p**2)

    def log_prob(self, x: VariableOrArray) -> Variable:
        return (x - 1) * self._log_failure + F.log(self.p)

    def sample_n(self, n: int) -> Variable:
        return chainer.Variable(self._draw(n, "geometric", self.p))


@register_kl(Geometric, Geometric)
def _kl(dist1, dist2):
    failures = (1 / dist1.p - 1) * (dist1._log_failure - dist2._log_failure)
    return failures + F.log(dist1.p) - F.log(dist2.p)
