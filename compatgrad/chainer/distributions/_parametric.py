"""Base classes of the distributions whose parameters have one shape."""

import compatgrad.chainer as chainer
from compatgrad.chainer import distribution
from compatgrad.chainer.utils import cache


class statistic(cache.cached_property):
    """A cached attribute that a formula gives: `mean = statistic(lambda self: self.k * self.theta)`. Its docstring is
    that of the attribute of `Distribution`.
    """

    def __set_name__(self, owner, name):
        self.__name__ = name
        self.__doc__ = getattr(distribution.Distribution, name, self).__doc__


class Parametric(distribution.Distribution):
    """Base class of distributions of numbers: one distribution for each element of the parameters."""

    event_shape = ()

    def _set(self, **params):
        """Store the parameters as Variables: as attributes, too, unless the class has a property of that name."""
        self._params = {name: chainer.as_variable(value) for name, value in params.items()}
        self.__dict__.update((name, v) for name, v in self._params.items() if not hasattr(type(self), name))

    @property
    def params(self):
        return dict(self._params)

    @property
    def _first(self):
        return next(iter(self._params.values()))

    @property
    def batch_shape(self):
        return self._first.shape

    def _draw(self, n, name, *args, dtype=None):
        """An array of `n` draws for each element of the parameters, by the function `name` of NumPy's or CuPy's
        `random`."""
        draw = getattr(self.xp.random, name)
        noise = draw(*(a.array for a in args), size=(n, *self._first.shape))
        return self.xp.asarray(noise, dtype=dtype or self._first.dtype)


class Multivariate(Parametric):
    """Base class of distributions of vectors: the last axis of the parameters is the axis of an event."""

    @property
    def batch_shape(self):
        return self._first.shape[:-1]

    @property
    def event_shape(self):
        return self._first.shape[-1:]


def one_of(**params):
    """The name of the only parameter that is given. Raises ValueError if none or several are."""
    given = [name for name, value in params.items() if value is not None]
    if len(given) != 1:
        names = ", ".join(f"`{name}`" for name in params)
        raise ValueError(f"Either {names} (not both) must have a value.")
    return given[0]
