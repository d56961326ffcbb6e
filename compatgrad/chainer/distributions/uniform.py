"""Uniform distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.distributions._parts import within
from compatgrad.chainer.utils import (
    argument,
    cache,  # noqa: F401  programs find it here, as in Chainer
)

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Uniform"]


class Uniform(Parametric):
    """Uniform distribution.

    Args:
        **kwargs: floating, of one shape: `low` and `high`, the ends of the interval; or `loc`, the low end, and
            `scale`, the width.

    Raises:
        ValueError: both or neither of the two pairs are given.
        TypeError: there is an unknown option.

    Example:
        >>> d = chainer.distributions.Uniform(low=np.array(0.0), high=np.array(4.0))
        >>> d.mean.array, d.cdf(np.array(1.0)).array
        (array(2.), array(0.25))

    Source: `chainer.distributions.Uniform` of Chainer 7.8.1.
    """

    support = "[low, high]"

    def __init__(self, **kwargs: Any) -> None:
        names = ("low", "high", "loc", "scale")
        low, high, loc, scale = argument.parse_kwargs(kwargs, *((name, None) for name in names))
        ends, widths = low is not None and high is not None, loc is not None and scale is not None
        if ends == widths:
            raise ValueError("Either `low, high` or `loc, scale` (not both) must have a value.")
        if ends:
            self._set(low=low, high=high)
            self.loc = self.low
        else:
            self._set(loc=loc, scale=scale)
            self.low = self.loc

    high = statistic(lambda self: self._params["high"] if "high" in self._params else self.loc + self.scale)
    scale = statistic(lambda self: self._params["scale"] if "scale" in self._params else self.high - self.low)
    mean = statistic(lambda self: (self.high + self.low) / 2)
    variance = statistic(lambda self: self.scale**2 / 12)
    entropy = statistic(lambda self: F.log(self.scale))

    def log_prob(self, x: VariableOrArray) -> Variable:
        x = chainer.as_variable(x)
        inside = (x.array >= self.low.array) & (x.array <= self.high.array)
        return within(inside, F.broadcast_to(-F.log(self.scale), x.shape))

    def cdf(self, x: VariableOrArray) -> Variable:
        return F.clip((x - self.loc) / self.scale, 0.0, 1.0)

    def icdf(self, x: VariableOrArray) -> Variable:
        return x * self.scale + self.loc

    def sample_n(self, n: int) -> Variable:
        return self.icdf(self._draw(n, "uniform"))


@register_kl(Uniform, Uniform)
def _kl(dist1, dist2):
    covered = (dist1.low.array >= dist2.low.array) & (dist1.high.array <= dist2.high.array)
    return -within(covered, F.log(dist1.scale) - F.log(dist2.scale))
