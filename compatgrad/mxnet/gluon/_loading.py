"""`all_or_nothing`: a load of parameters that fails leaves them unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .. import autograd
from ._parameter import Parameter

__all__ = ["all_or_nothing"]


@contextmanager
def all_or_nothing(params: Iterable[Parameter]) -> Iterator[None]:
    """A scope for a load into `params`: if an exception ends it, arrays, shapes and dtypes are restored."""
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
