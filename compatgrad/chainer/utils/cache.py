"""Cached attributes."""

import functools

from compatgrad.chainer.configuration import config


class cached_property:
    """A read-only attribute computed once, and once more where recording is switched the other way.

    A result computed without recording must not be reused where a graph is wanted.
    """

    def __init__(self, func):
        functools.update_wrapper(self, func)
        self.func = func

    def __get__(self, obj, cls):
        if obj is None:
            return self
        cache = obj.__dict__.setdefault(self.__name__, {})
        recording = config.enable_backprop
        if recording not in cache:
            cache[recording] = self.func(obj)
        return cache[recording]

    def __set__(self, obj, value):
        # Being a data descriptor keeps the cache dictionary in obj.__dict__ from hiding this.
        raise AttributeError(f"attribute {self.__name__!r} of {type(obj)} is readonly")
