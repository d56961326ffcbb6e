"""Base class of probability distributions, and divergences between them. Mirrors ``chainer.distribution``."""

import math

from compatgrad.chainer import backend
from compatgrad.chainer import functions as F


def _not_there(name, what):
    """A property that raises NotImplementedError, which names the class."""

    def raise_(self):
        raise self._lacks(name)

    return property(raise_, doc=what)


class Distribution:
    """A batch of distributions of events.

    Parameters have the shape `batch_shape + event_shape`, as far as both are of their kind: a distribution of numbers
    has the event shape (). `sample(shape)` gives `shape + batch_shape + event_shape`; functions of a sample x, which is
    a Variable or an array, give its shape without that of the events. What is computed from parameters that are
    Variables can be differentiated by them, samples too where the distribution is a transformation of noise.

    A subclass defines `batch_shape`, `event_shape`, `params`, `sample_n`, `log_prob` and what else it knows.
    """

    batch_shape = _not_there("batch_shape", "Shape of the batch, a tuple.")
    event_shape = _not_there("event_shape", "Shape of one event, a tuple.")
    params = _not_there("params", "The parameters by their names, a dict of Variables.")
    support = _not_there("support", "The values that events can have, in words.")
    mean = _not_there("mean", "Mean, of shape `batch_shape + event_shape`.")
    mode = _not_there("mode", "The most probable event.")
    variance = _not_there("variance", "Variance, of shape `batch_shape + event_shape`.")
    covariance = _not_there("covariance", "Covariance of the numbers of an event, two of its last axes.")
    entropy = _not_there("entropy", "Differential or discrete entropy in nats, of shape `batch_shape`.")

    def _lacks(self, name):
        return NotImplementedError(f"{type(self).__name__}.{name} is not defined")

    @property
    def stddev(self):
        """Square root of the variance."""
        return F.sqrt(self.variance)

    @property
    def xp(self):
        """The module of the parameters' arrays: NumPy or CuPy."""
        return backend.get_array_module(*self.params.values())

    def log_prob(self, x):
        """Logarithm of the density, or of the probability, at x."""
        raise self._lacks("log_prob")

    def prob(self, x):
        """Density, or probability, at x."""
        return F.exp(self.log_prob(x))

    def cdf(self, x):
        """Probability of a value up to x."""
        raise self._lacks("cdf")

    def icdf(self, x):
        """The value up to which the probability is x: the inverse of `cdf`."""
        raise self._lacks("icdf")

    def log_cdf(self, x):
        """Logarithm of `cdf`."""
        return F.log(self.cdf(x))

    def survival_function(self, x):
        """Probability of a value above x."""
        return 1 - self.cdf(x)

    def log_survival_function(self, x):
        """Logarithm of `survival_function`."""
        return F.log(self.survival_function(x))

    def perplexity(self, x):
        """Perplexity at x."""
        raise self._lacks("perplexity")

    def sample(self, sample_shape=()):
        """Random events, of shape `sample_shape + batch_shape + event_shape`. `sample_shape` is a tuple or an int."""
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return self.sample_n(math.prod(shape)).reshape((*shape, *self.batch_shape, *self.event_shape))

    def sample_n(self, n):
        """n random events, of shape `(n,) + batch_shape + event_shape`."""
        raise self._lacks("sample_n")


_DIVERGENCES = {}


def register_kl(Dist1, Dist2):
    """Decorator: the function of two distributions is what `kl_divergence` calls for these classes."""

    def register(kl):
        _DIVERGENCES[Dist1, Dist2] = kl
        return kl

    return register


def kl_divergence(dist1, dist2):
    """Kullback-Leibler divergence of `dist2` from `dist1` in nats, of shape `batch_shape`.

    NotImplementedError, which is a KeyError too as Chainer's is, where no function is registered for the classes.
    """
    kl = _DIVERGENCES.get((type(dist1), type(dist2)))
    if kl is None:
        raise _NoDivergence(
            f"kl_divergence: none is registered of {type(dist1).__name__} and {type(dist2).__name__}; see register_kl"
        )
    return kl(dist1, dist2)


class _NoDivergence(NotImplementedError, KeyError):
    __str__ = Exception.__str__  # a KeyError's is the repr


def cross_entropy(dist1, dist2):
    """Expectation under `dist1` of the negative logarithm of `dist2`, in nats, of shape `batch_shape`."""
    return dist1.entropy + kl_divergence(dist1, dist2)
