"""Base class of probability distributions, and divergences between them. Mirrors ``chainer.distribution``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend
from compatgrad.chainer import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def _not_there(name, what):
    """Makes a property that raises NotImplementedError with the name of the class."""

    def raise_(self):
        raise self._lacks(name)

    return property(raise_, doc=what)


class Distribution:
    """A batch of distributions of events.

    A distribution of numbers has the event shape (), a distribution of vectors of length k the event shape (k,).
    `sample(shape)` gives events of the shape `shape + batch_shape + event_shape`. Functions of a sample x, which is a
    Variable or an array, give results of the shape of x without the axes of the event. Results can be differentiated by
    parameters that are Variables; samples can, where the distribution is a transformation of noise.

    A subclass defines `batch_shape`, `event_shape`, `params`, `sample_n`, `log_prob` and what else it knows; the others
    raise NotImplementedError.

    Example:
        >>> d = chainer.distributions.Normal(np.zeros(3), np.ones(3))
        >>> isinstance(d, chainer.Distribution), d.batch_shape, d.event_shape, d.sample(2).shape
        (True, (3,), (), (2, 3))
        >>> d.prob(np.zeros((2, 3))).shape
        (2, 3)

    Source: `chainer.Distribution` of Chainer 7.8.1.
    """

    batch_shape = _not_there("batch_shape", "Shape of the batch, a tuple.")
    event_shape = _not_there("event_shape", "Shape of one event, a tuple.")
    params = _not_there("params", "The parameters by their names, a dict of Variables.")
    support = _not_there("support", "The values that events can have, in words.")
    mean = _not_there("mean", "Mean, of shape `batch_shape + event_shape`.")
    mode = _not_there("mode", "The most probable event.")
    variance = _not_there("variance", "Variance, of shape `batch_shape + event_shape`.")
    covariance = _not_there("covariance", "Covariance matrix of the numbers of an event, in the last two axes.")
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

    def log_prob(self, x: VariableOrArray) -> Variable:
        """Logarithm of the density, or of the probability, at x."""
        raise self._lacks("log_prob")

    def prob(self, x: VariableOrArray) -> Variable:
        """Density, or probability, at x."""
        return F.exp(self.log_prob(x))

    def cdf(self, x: VariableOrArray) -> Variable:
        """Probability of a value up to x."""
        raise self._lacks("cdf")

    def icdf(self, x: VariableOrArray) -> Variable:
        """The value up to which the probability is x: the inverse of `cdf`."""
        raise self._lacks("icdf")

    def log_cdf(self, x: VariableOrArray) -> Variable:
        """Logarithm of `cdf`."""
        return F.log(self.cdf(x))

    def survival_function(self, x: VariableOrArray) -> Variable:
        """Probability of a value above x."""
        return 1 - self.cdf(x)

    def log_survival_function(self, x: VariableOrArray) -> Variable:
        """Logarithm of `survival_function`."""
        return F.log(self.survival_function(x))

    def perplexity(self, x: VariableOrArray) -> Variable:
        """Perplexity at x."""
        raise self._lacks("perplexity")

    def sample(self, sample_shape: tuple[int, ...] | int = ()) -> Variable:
        """Random events, of shape `sample_shape + batch_shape + event_shape`. `sample_shape` is a tuple or an int."""
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return self.sample_n(math.prod(shape)).reshape((*shape, *self.batch_shape, *self.event_shape))

    def sample_n(self, n: int) -> Variable:
        """n random events, of shape `(n,) + batch_shape + event_shape`."""
        raise self._lacks("sample_n")


_DIVERGENCES = {}


def register_kl(Dist1: type, Dist2: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a decorator that registers a function of two distributions, which `kl_divergence` then calls for these
    classes.

    Args:
        Dist1: class of the first distribution; the registration does not apply to its subclasses.
        Dist2: class of the second one.

    Returns:
        A decorator that returns the function unchanged.

    Raises:
        TypeError: one of the classes is not hashable.

    Example:
        >>> class Constant(chainer.distributions.Normal):
        ...     pass
        >>> @chainer.register_kl(Constant, Constant)
        ... def kl(dist1, dist2):
        ...     return chainer.Variable(np.array(0.0))
        >>> d = Constant(np.zeros(()), np.ones(()))
        >>> chainer.kl_divergence(d, d).array
        array(0.)

    Source: `chainer.register_kl` of Chainer 7.8.1.
    """

    def register(kl):
        _DIVERGENCES[Dist1, Dist2] = kl
        return kl

    return register


def kl_divergence(dist1: Distribution, dist2: Distribution) -> Variable:
    """Kullback-Leibler divergence of `dist2` from `dist1` in nats.

    Args:
        dist1: Distribution.
        dist2: Distribution.

    Returns:
        Variable of the shape of the batch.

    Raises:
        NotImplementedError: no function is registered for the two classes; the error is a KeyError too, as in Chainer.

    Example:
        >>> p, q = (chainer.distributions.Normal(np.array(m), np.array(1.0)) for m in (0.0, 1.0))
        >>> chainer.kl_divergence(p, q).array
        array(0.5)

    Source: `chainer.kl_divergence` of Chainer 7.8.1.
    """
    kl = _DIVERGENCES.get((type(dist1), type(dist2)))
    if kl is None:
        raise _NoDivergence(
            f"kl_divergence: none is registered of {type(dist1).__name__} and {type(dist2).__name__}; see register_kl"
        )
    return kl(dist1, dist2)


class _NoDivergence(NotImplementedError, KeyError):
    __str__ = Exception.__str__  # KeyError.__str__ would show the repr of the message


def cross_entropy(dist1: Distribution, dist2: Distribution) -> Variable:
    """Expectation under `dist1` of the negative logarithm of `dist2`, in nats: the entropy of `dist1` plus the
    divergence.

    Args:
        dist1: Distribution.
        dist2: Distribution.

    Returns:
        Variable of the shape of the batch.

    Raises:
        NotImplementedError: the entropy of `dist1` is not known, or no divergence is registered for the two classes.

    Example:
        >>> p, q = (chainer.distributions.Normal(np.array(m), np.array(1.0)) for m in (0.0, 1.0))
        >>> float(chainer.cross_entropy(p, q).array.round(4))
        1.9189

    Source: `chainer.cross_entropy` of Chainer 7.8.1.
    """
    return dist1.entropy + kl_divergence(dist1, dist2)
