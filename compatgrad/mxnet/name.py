"""Automatic names of symbols and blocks: `NameManager` counts per hint, `Prefix` puts a string before each name."""

from __future__ import annotations

import threading  # noqa: F401  programs find it here, as in MXNet
import warnings  # noqa: F401  programs find it here, as in MXNet

from ._scopes import Scope

__all__ = ["NameManager", "Prefix"]


class NameManager(Scope, kind=("a NameManager", False)):
    """Gives the names `hint0`, `hint1`, … to what is made without a name inside a `with` block.

    Example:
        >>> with mx.name.NameManager():
        ...     print(mx.sym.exp(mx.sym.var("x")).name, mx.sym.exp(mx.sym.var("x")).name)
        exp0 exp1

    Source: `mxnet.name.NameManager` of MXNet 1.9.1.
    """

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """`name` if it is given, else the next name for `hint` (str)."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"


class Prefix(NameManager):
    """A manager of names that puts a text before each name, also before given ones.

    Args:
        prefix: the text.

    Example:
        >>> with mx.name.Prefix("net_"):
        ...     print(mx.sym.exp(mx.sym.var("x")).name)
        net_exp0

    Source: `mxnet.name.Prefix` of MXNet 1.9.1.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The prefix and what NameManager gives."""
        return self._prefix + super().get(name, hint)
