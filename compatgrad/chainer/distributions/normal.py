"""Normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, one_of, statistic
from compatgrad.chainer.distributions._parts import LOG_ROOT_2PI
from compatgrad.chainer.utils import (
    argument,
    cache,  # noqa: F401  programs find it here, as in Chainer
)

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["Normal"]


class Normal(Parametric):
    """Normal distribution.

    Args:
        loc: floating, any shape: mean.
        scale: floating, positive, of the shape of `loc`: standard deviation. It or `log_scale` is given.
        **kwargs: `log_scale`, floating, of the shape of `loc`: logarithm of the standard deviation.

    Raises:
        ValueError: both or neither of `scale` and `log_scale` are given.
        TypeError: there is an unknown option.

    Example:
        >>> d = chainer.distributions.Normal(np.array(0.0), np.array(2.0))
        >>> d.variance.array, d.cdf(np.array(0.0)).array, d.icdf(np.array(0.5)).array
        (array(4.), array(0.5), array(0.))

    Source: `chainer.distributions.Normal` of Chainer 7.8.1.
    """

    support = "real"

    def __init__(self, loc: VariableOrArray, scale: VariableOrArray | None = None, **kwargs: Any) -> None:
        (log_scale,) = argument.parse_kwargs(kwargs, ("log_scale", None))
        if one_of(scale=scale, log_scale=log_scale) == "scale":
            self._set(loc=loc, scale=scale)
        else:
            self._set(loc=loc)
            self._log_scale = chainer.as_variable(log_scale)

    scale = statistic(lambda self: self._params["scale"] if "scale" in self._params else F.exp(self._log_scale))
    log_scale = statistic(lambda self: F.log(self._params["scale"]) if "scale" in self._params else self._log_scale)

    @property
    def params(self):
        return {"loc": self.loc, "scale": self.scale}

    mean = statistic(lambda self: self.loc)

    mode = mean
    stddev = statistic(lambda self: self.scale)
    variance = statistic(lambda self: self.scale**2)
    entropy = statistic(lambda self: self.log_scale + (0.5 + LOG_ROOT_2PI))

    def _standardized(self, x):
        return (x - self.loc) / self.scale

    def log_prob(self, x: VariableOrArray) -> Variable:
        return -LOG_ROOT_2PI - self.log_scale - 0.5 * (x - self.loc) ** 2 / self.variance

    def cdf(self, x: VariableOrArray) -> Variable:
        return F.ndtr(self._standardized(x))

    def icdf(self, x: VariableOrArray) -> Variable:
        return self.loc + self.scale * F.ndtri(x)

    def log_cdf(self, x: VariableOrArray) -> Variable:
        return F.log_ndtr(self._standardized(x))

    def survival_function(self, x: VariableOrArray) -> Variable:
        return F.ndtr(-self._standardized(x))

    def log_survival_function(self, x: VariableOrArray) -> Variable:
        return F.log_ndtr(-self._standardized(x))

    def sample_n(self, n: int) -> Variable:
        return self.loc + self.scale * self._draw(n, "standard_normal")


@register_kl(Normal, Normal)
def _kl(dist1, dist2):
    distance = dist1.variance + (dist1.loc - dist2.loc) ** 2
    return dist2.log_scale - dist1.log_scale + 0.5 * distance / dist2.variance - 0.5
