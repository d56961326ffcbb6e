"""Attributes that symbols made inside a `with` block get."""

import threading
import warnings
from collections import defaultdict

__all__ = ["AttrScope"]


def _warn_of_current():
    warnings.warn("AttrScope.current is deprecated. Use `with` with an AttrScope.", DeprecationWarning, stacklevel=3)


class _Scopes(threading.local):
    """The innermost scope of each thread, kept as `value`."""

    def __init__(self):
        self.value = AttrScope()


class _ScopeType(type):
    @property
    def current(cls):
        """The innermost scope (deprecated; `with` statements take its place)."""
        _warn_of_current()
        return AttrScope._current.value

    @current.setter
    def current(cls, scope):
        _warn_of_current()
        AttrScope._current.value = scope


class AttrScope(metaclass=_ScopeType):
    """Adds the keyword arguments as attributes to symbols made inside; inner scopes override outer ones.

    ValueError for a value that is no str.
    """

    _current: threading.local
    _subgraph_names: dict[str, int] = defaultdict(int)

    def __init__(self, **kwargs):
        self._old_scope = None
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"Attributes need to be string, but {key} is {type(value).__name__}")
        self._attr = kwargs

    def get(self, attr):
        """The scope's attributes with `attr` (dict or None) over them, a dict."""
        if not self._attr:
            return attr if attr else {}
        return {**self._attr, **attr} if attr else dict(self._attr)

    def __enter__(self):
        self._old_scope = AttrScope._current.value
        self._attr = {**self._old_scope._attr, **self._attr}
        AttrScope._current.value = self
        return self

    def __exit__(self, ptype, value, trace):
        AttrScope._current.value = self._old_scope


AttrScope._current = _Scopes()
