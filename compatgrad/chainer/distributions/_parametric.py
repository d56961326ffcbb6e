"""What distributions with parameters of one shape have in common."""

import compatgrad.chainer as chainer
from compatgrad.chainer import distribution


class Parametric(distribution.Distribution):
    """A distribution of numbers: each element of the parameters has its own."""

    event_shape = ()

    def _set(self, **params):
        """Make the parameters attributes, as Variables, where the class has no property of the name."""
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
        """`n` times random numbers of NumPy or CuPy, by the name of its function there, as an array."""
        draw = getattr(self.xp.random, name)
        noise = draw(*(a.array for a in args), size=(n, *self._first.shape))
        return self.xp.asarray(noise, dtype=dtype or self._first.dtype)


class Multivariate(Parametric):
    """The last axis of the parameters is that of an event."""

    @property
    def batch_shape(self):
        return self._first.shape[:-1]

    @property
    def event_shape(self):
        return self._first.shape[-1:]


def one_of(**params):
    """The name of the one parameter that is given."""
    given = [name for name, value in params.items() if value is not None]
    if len(given) != 1:
        names = ", ".join(f"`{name}`" for name in params)
        raise ValueError(f"Either {names} (not both) must have a value.")
    return given[0]
