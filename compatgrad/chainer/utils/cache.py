"""Cached attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from compatgrad.chainer.configuration import config


class cached_property:
    """Decorator of a method without arguments: a read-only attribute that is computed once with recording
    (`config.enable_backprop`) and once without: a result that was computed without recording has no graph. Setting it
    raises AttributeError.

    Args:
        func: the method.

    Example:
        >>> class Circle:
        ...     @chainer.utils.cache.cached_property
        ...     def area(self):
        ...         print("computed")
        ...         return 3.14
        >>> circle = Circle()
        >>> circle.area, circle.area
        computed
        (3.14, 3.14)

    Source: `chainer.utils.cache.cached_property` of Chainer 7.8.1.
    """

    def __init__(self, func: Callable[[Any], Any]) -> None:
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
        # With __set__ this is a data descriptor, which takes precedence over the cache of the same name in
        # obj.__dict__.
        raise AttributeError(f"attribute {self.__name__!r} of {type(obj)} is readonly")
