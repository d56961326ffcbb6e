"""Distributions whose event is made of several events of another distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer import distribution
from compatgrad.chainer import functions as F
from compatgrad.chainer.utils import cache

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.distribution import Distribution
    from compatgrad.chainer.variable import Variable

__all__ = ["Independent"]


def _its(name):
    """Makes a property that returns `name` of the underlying distribution."""
    what = getattr(distribution.Distribution, name).__doc__
    return property(lambda self: getattr(self.distribution, name), doc=what)


def _of_all(name, reduction):
    """Makes the method `name`, which reduces the values of the underlying distribution over the axes of an event."""

    def method(self, x: VariableOrArray) -> Variable:
        return self._reduce(reduction, getattr(self.distribution, name)(x))

    method.__name__ = name
    method.__doc__ = getattr(distribution.Distribution, name).__doc__
    return method


class Independent(distribution.Distribution):
    """A distribution whose last batch axes become axes of the event.

    Args:
        distribution: Distribution.
        reinterpreted_batch_ndims: the number of these axes; None: all batch axes but the first.

    Raises:
        ValueError: the batch has fewer axes than `reinterpreted_batch_ndims`.

    Example:
        >>> inner = chainer.distributions.Normal(np.zeros((2, 3)), np.ones((2, 3)))
        >>> d = chainer.distributions.Independent(inner)
        >>> d.batch_shape, d.event_shape, d.log_prob(np.zeros((2, 3))).array.round(4)
        ((2,), (3,), array([-2.7568, -2.7568]))

    Source: `chainer.distributions.Independent` of Chainer 7.8.1.
    """

    def __init__(self, distribution: Distribution, reinterpreted_batch_ndims: int | None = None) -> None:
        batch = distribution.batch_shape
        if reinterpreted_batch_ndims is None:
            reinterpreted_batch_ndims = max(0, len(batch) - 1)
        elif reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "reinterpreted_batch_ndims must be less than or equal to the number of dimensions of "
                f"`distribution.batch_shape`: {reinterpreted_batch_ndims} > {len(batch)}"
            )
        self.distribution = distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self._own = batch[: len(batch) - reinterpreted_batch_ndims]

    @property
    def batch_shape(self):
        return self._own

    @property
    def event_shape(self):
        return self._inner_batch + self.distribution.event_shape

    params = _its("params")
    support = _its("support")
    mean = _its("mean")
    mode = _its("mode")
    variance = _its("variance")
    stddev = _its("stddev")
    xp = _its("xp")

    @property
    def _inner_batch(self):
        return self.distribution.batch_shape[len(self._own) :]

    def _reduce(self, reduction, x):
        axes = tuple(range(-self.reinterpreted_batch_ndims, 0))
        return reduction(x, axis=axes) if axes else x

    @property
    def entropy(self):
        return self._reduce(F.sum, self.distribution.entropy)

    @cache.cached_property
    def covariance(self):
        """Covariance matrix of the numbers of an event: the underlying covariances are blocks on its diagonal."""
        n = math.prod(self._inner_batch)
        event = math.prod(self.distribution.event_shape)
        blocks = F.reshape(self.distribution.covariance, (*self._own, n, event, 1, event))
        size = n * event
        spread = F.reshape(F.broadcast_to(blocks, (*self._own, n, event, n, event)), (*self._own, size, size))
        diagonal = numpy.kron(numpy.eye(n), numpy.ones((event, event))).astype(spread.dtype)
        return spread * self.xp.broadcast_to(self.xp.asarray(diagonal), spread.shape)

    log_prob = _of_all("log_prob", F.sum)
    prob = _of_all("prob", F.prod)
    cdf = _of_all("cdf", F.prod)

    def icdf(self, x: VariableOrArray) -> Variable:
        """Raises NotImplementedError: many events have the same product of probabilities, so `cdf` has no inverse."""
        raise NotImplementedError("Cumulative distribution function for multivariate variable is not invertible.")

    log_cdf = _of_all("log_cdf", F.sum)
    survival_function = _of_all("survival_function", F.prod)
    log_survival_function = _of_all("log_survival_function", F.sum)
    perplexity = _of_all("perplexity", F.prod)

    def sample_n(self, n: int) -> Variable:
        return self.distribution.sample_n(n)


@distribution.register_kl(Independent, Independent)
def _kl(dist1, dist2):
    p, q = dist1.distribution, dist2.distribution
    if dist1.event_shape != dist2.event_shape:
        raise ValueError(f"Event shapes do not match. Actual: {dist1.event_shape} and {dist2.event_shape}")
    if p.event_shape != q.event_shape:
        raise NotImplementedError("KL between Independents with different event shapes is not supported.")
    return dist1._reduce(F.sum, distribution.kl_divergence(p, q))
