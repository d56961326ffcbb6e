"""`mxnet.nd._internal`: operators under their private names, `_internal._plus(a, b)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._operator import operators


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_") and name in operators:
        return operators[name]
    raise AttributeError(f"module {__name__!r} has no operator {name!r}")


def __dir__() -> list[str]:
    return sorted(name for name in operators if name.startswith("_"))
