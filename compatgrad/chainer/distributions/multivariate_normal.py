"""Multivariate normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer.backend import get_array_module
from compatgrad.chainer.distribution import register_kl
from compatgrad.chainer.distributions._parametric import Multivariate, statistic
from compatgrad.chainer.distributions._parts import LOG_ROOT_2PI
from compatgrad.chainer.functions import _bound
from compatgrad.chainer.utils import argument, cache

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

__all__ = ["MultivariateNormal"]


def _triangular_inv(x, lower=True):
    """The inverse of one triangular matrix."""
    return _bound.solve_triangular(x, get_array_module(x).eye(len(x), dtype=x.dtype), lower=lower)


def _squares(x, axis):
    return F.sum(x * x, axis=axis)


class MultivariateNormal(Multivariate):
    """Normal distribution of vectors.

    Args:
        loc: floating, (..., d): mean.
        **kwargs: `scale_tril`, floating, (..., d, d): the lower triangular L of the covariance L L^T. Elements above
            the diagonal are not read.

    Raises:
        ValueError: `scale_tril` is missing.
        TypeError: there is an unknown option.

    Example:
        >>> d = chainer.distributions.MultivariateNormal(np.zeros(2), scale_tril=np.array([[1.0, 0.0], [1.0, 2.0]]))
        >>> d.covariance.array
        array([[1., 1.],
               [1., 5.]])
        >>> float(d.log_prob(np.zeros(2)).array.round(4))
        -2.531

    Source: `chainer.distributions.MultivariateNormal` of Chainer 7.8.1.
    """

    support = "real"

    def __init__(self, loc: VariableOrArray, **kwargs: Any) -> None:
        (scale_tril,) = argument.parse_kwargs(kwargs, ("scale_tril", None))
        if scale_tril is None:
            raise ValueError("`scale_tril` must have a value.")
        self._set(loc=loc, scale_tril=scale_tril)

    @property
    def d(self):
        """Length of the vectors."""
        return self.scale_tril.shape[-1]

    mean = statistic(lambda self: self.loc)

    mode = mean
    variance = statistic(lambda self: _squares(self._lower, -1))

    @cache.cached_property
    def _lower(self):
        below = self.xp.tri(self.d, dtype=self.loc.dtype)
        return self.scale_tril * self.xp.broadcast_to(below, self.scale_tril.shape)

    covariance = statistic(lambda self: F.matmul(self._lower, self._lower, transb=True))
    _logdet_scale = statistic(lambda self: F.sum(F.log(abs(F.diagonal(self.scale_tril, axis1=-2, axis2=-1))), axis=-1))
    entropy = statistic(lambda self: self._logdet_scale + (0.5 + LOG_ROOT_2PI) * self.d)

    def log_prob(self, x: VariableOrArray) -> Variable:
        x = chainer.as_variable(x)
        rows = x - F.broadcast_to(self.loc, x.shape)
        sample = x.shape[: x.ndim - self.loc.ndim]
        # all samples of one distribution become columns of one linear system, which is solved once
        columns = F.moveaxis(rows.reshape(-1, *self.loc.shape), 0, -1)
        distance = _squares(_bound.solve_triangular(self.scale_tril, columns), -2)
        distance = F.moveaxis(distance, -1, 0).reshape(sample + self.batch_shape)
        peak = -LOG_ROOT_2PI * self.d - self._logdet_scale
        return F.broadcast_to(peak, distance.shape) - 0.5 * distance

    def sample_n(self, n: int) -> Variable:
        noise = self.xp.expand_dims(self._draw(n, "standard_normal"), -1)
        lower = F.broadcast_to(self._lower, (n, *self.scale_tril.shape))
        return self.loc + F.squeeze(F.matmul(lower, noise), axis=-1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl(dist1, dist2):
    spread = _squares(_bound.solve_triangular(dist2.scale_tril, dist1._lower), (-1, -2))
    shift = F.expand_dims(dist1.loc - dist2.loc, -1)
    distance = _squares(_bound.solve_triangular(dist2.scale_tril, shift), (-1, -2))
    return dist2._logdet_scale - dist1._logdet_scale + 0.5 * (spread + distance) - 0.5 * dist1.d
