"""Normal distribution."""

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Parametric, one_of
from compatgrad.chainer.distributions.utils import LOG_ROOT_2PI
from compatgrad.chainer.utils import argument, cache


class Normal(Parametric):
    """Normal distribution with mean `loc` and standard deviation `scale`, or its logarithm, `log_scale=`."""

    support = "real"

    def __init__(self, loc, scale=None, **kwargs):
        (log_scale,) = argument.parse_kwargs(kwargs, ("log_scale", None))
        if one_of(scale=scale, log_scale=log_scale) == "scale":
            self._set(loc=loc, scale=scale)
        else:
            self._set(loc=loc)
            self._log_scale = chainer.as_variable(log_scale)

    @cache.cached_property
    def scale(self):
        return self._params["scale"] if "scale" in self._params else F.exp(self._log_scale)

    @cache.cached_property
    def log_scale(self):
        return F.log(self._params["scale"]) if "scale" in self._params else self._log_scale

    @property
    def params(self):
        return {"loc": self.loc, "scale": self.scale}

    @property
    def mean(self):
        return self.loc

    mode = mean

    @property
    def stddev(self):
        return self.scale

    @cache.cached_property
    def variance(self):
        return self.scale**2

    @cache.cached_property
    def entropy(self):
        return self.log_scale + (0.5 + LOG_ROOT_2PI)

    def _standardized(self, x):
        return (x - self.loc) / self.scale

    def log_prob(self, x):
        return -LOG_ROOT_2PI - self.log_scale - 0.5 * (x - self.loc) ** 2 / self.variance

    def cdf(self, x):
        return F.ndtr(self._standardized(x))

    def icdf(self, x):
        return self.loc + self.scale * F.ndtri(x)

    def log_cdf(self, x):
        return F.log_ndtr(self._standardized(x))

    def survival_function(self, x):
        return F.ndtr(-self._standardized(x))

    def log_survival_function(self, x):
        return F.log_ndtr(-self._standardized(x))

    def sample_n(self, n):
        return self.loc + self.scale * self._draw(n, "standard_normal")


@register_kl(Normal, Normal)
def _kl(dist1, dist2):
    distance = dist1.variance + (dist1.loc - dist2.loc) ** 2
    return dist2.log_scale - dist1.log_scale + 0.5 * distance / dist2.variance - 0.5
