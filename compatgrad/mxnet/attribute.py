"""Attributes that symbols made inside a `with` block get."""

from __future__ import annotations

import threading
import warnings
from collections import defaultdict
from typing import Any

__all__ = ["AttrScope"]


def _warn_of_current() -> None:
    warnings.warn("AttrScope.current is deprecated. Use `with` with an AttrScope.", DeprecationWarning, stacklevel=3)


class _Scopes(threading.local):
    """The innermost scope of each thread, kept as `value`."""

    def __init__(self) -> None:
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
    """Adds attributes to the symbols made inside a `with` block; inner scopes override outer ones.

    Args:
        **kwargs: the attributes; each value is a str.

    Raises:
        ValueError: a value is no str.

    Example:
        >>> with mx.AttrScope(ctx_group="stage1"):
        ...     x = mx.sym.var("x")
        >>> x.attr("ctx_group")
        'stage1'

    Source: `mxnet.AttrScope` of MXNet 1.9.1.
    """

    _current: threading.local
    _subgraph_names: dict[str, int] = defaultdict(int)

    def __init__(self, **kwargs: str) -> None:
        self._old_scope = None
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"Attributes need to be string, but {key} is {type(value).__name__}")
        self._attr = kwargs

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """The scope's attributes with `attr` (dict or None) over them, a dict."""
        if not self._attr:
            return attr if attr else {}
        return {**self._attr, **attr} if attr else dict(self._attr)

    def __enter__(self) -> AttrScope:
        self._old_scope = AttrScope._current.value
        self._attr = {**self._old_scope._attr, **self._attr}
        AttrScope._current.value = self
        return self

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        AttrScope._current.value = self._old_scope


AttrScope._current = _Scopes()
