"""Attributes that symbols made inside a `with` block get."""

from __future__ import annotations

import threading  # noqa: F401  programs find it here, as in MXNet
import warnings  # noqa: F401  programs find it here, as in MXNet
from collections import defaultdict

from compatgrad.core.configuration import Settings

from ._scopes import Scope

__all__ = ["AttrScope"]


class AttrScope(Scope, kind=("an AttrScope", True)):
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

    _subgraph_names: dict[str, int] = defaultdict(int)

    def __init__(self, **kwargs: str) -> None:
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"Attributes need to be string, but {key} is {type(value).__name__}")
        self._attr = kwargs

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """The scope's attributes with `attr` (dict or None) over them, a dict."""
        if not self._attr:
            return attr if attr else {}
        return {**self._attr, **attr} if attr else dict(self._attr)

    def _settings(self) -> Settings:
        self._attr = {**AttrScope._current.value._attr, **self._attr}
        return super()._settings()
