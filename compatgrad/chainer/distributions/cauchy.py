"""Cauchy distribution."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distributions._parametric import Parametric, statistic
from compatgrad.chainer.utils import cache  # noqa: F401  programs find it here, as in Chainer

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Cauchy"]


class Cauchy(Parametric):
    """Cauchy distribution: a density proportional to 1 / (1 + ((x - loc) / scale) ** 2).

    Its mean and variance are undefined: reading them gives NaN and a RuntimeWarning.

    Args:
        loc: floating, any shape: the centre.
        scale: floating, of the shape of `loc`: the distance from the centre at which the density is half its maximum.

    Example:
        >>> d = chainer.distributions.Cauchy(np.array(0.0), np.array(1.0))
        >>> d.cdf(np.array(1.0)).array, float(d.entropy.array.round(4))
        (array(0.75), 2.531)

    Source: `chainer.distributions.Cauchy` of Chainer 7.8.1.
    """

    support = "real"

    def __init__(self, loc: VariableOrArray, scale: VariableOrArray) -> None:
        self._set(loc=loc, scale=scale)

    def _undefined(self, what):
        warnings.warn(f"{what} of the cauchy distribution is undefined.", RuntimeWarning, stacklevel=4)
        return chainer.as_variable(self.xp.full_like(self.loc.array, math.nan))

    mean = statistic(lambda self: self._undefined("Mean"))
    variance = statistic(lambda self: self._undefined("Variance"))
    entropy = statistic(lambda self: F.log(4 * math.pi * self.scale))

    def log_prob(self, x: VariableOrArray) -> Variable:
        return F.log(self.scale) - math.log(math.pi) - F.log((x - self.loc) ** 2 + self.scale**2)

    def cdf(self, x: VariableOrArray) -> Variable:
        return F.arctan((x - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, x: VariableOrArray) -> Variable:
        return self.loc + self.scale * F.tan(math.pi * (chainer.as_variable(x) - 0.5))

    def sample_n(self, n: int) -> Variable:
        return self.scale * self._draw(n, "standard_cauchy") + self.loc
