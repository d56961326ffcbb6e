"""Gumbel distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.distributions._parts import EULER
from compatgrad.chainer.utils import cache  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Gumbel"]


class Gumbel(Parametric):
    """Gumbel distribution: the density exp(-y - exp(-y)) / scale with y = (x - loc) / scale.

    Args:
        loc: floating, any shape: the most probable value.
        scale: floating, positive, of the shape of `loc`: width.

    Example:
        >>> d = chainer.distributions.Gumbel(np.array(0.0), np.array(1.0))
        >>> float(d.mean.array.round(4)), float(d.variance.array.round(4))
        (0.5772, 1.6449)

    Source: `chainer.distributions.Gumbel` of Chainer 7.8.1.
    """

    support = "real"

    def __init__(self, loc: VariableOrArray, scale: VariableOrArray) -> None:
        self._set(loc=loc, scale=scale)

    _log_scale = statistic(lambda self: F.log(self.scale))
    mean = statistic(lambda self: self.loc + EULER * self.scale)
    variance = statistic(lambda self: math.pi**2 / 6 * self.scale**2)
    entropy = statistic(lambda self: self._log_scale + (EULER + 1))

    def log_prob(self, x: VariableOrArray) -> Variable:
        y = (x - self.loc) / self.scale
        return -self._log_scale - y - F.exp(-y)

    def sample_n(self, n: int) -> Variable:
        return self.scale * self._draw(n, "gumbel") + self.loc


@register_kl(Gumbel, Gumbel)
def _kl(dist1, dist2):
    ratio, shift = dist1.scale / dist2.scale, (dist2.loc - dist1.loc) / dist2.scale
    moment = F.exp(shift + F.lgamma(ratio + 1.0))
    return dist2._log_scale - dist1._log_scale + EULER * (ratio - 1.0) + moment - 1 - shift
