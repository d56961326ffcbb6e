"""Loads of parameters that fail change nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .. import autograd
from ._parameter import Parameter

__all__ = ["all_or_nothing"]


@contextmanager
def all_or_nothing(params: Iterable[Parameter]) -> Iterator[None]:
    """A load into `params`; an exception that ends it leaves their arrays, shapes and dtypes as they were."""
    before = [(p, dict(vars(p)), [(x, x.copy()) for x in p._data or ()]) for p in set(params)]
    try:
        yield
    except BaseException:
        for param, attributes, arrays in before:
            vars(param).clear()
            vars(param).update(attributes)
            with autograd.pause():
                for array, elements in arrays:
                    array[:] = elements
        raise
