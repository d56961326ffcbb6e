"""`lend`: makes names of a package importable from one of its modules too, where MXNet defines them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import ModuleType
from typing import Any


def lend(package: dict[str, Any], *modules: ModuleType) -> None:
    """Makes modules of a package look up in the package's `globals()` the names that they do not define."""
    for module in modules:
        module.__getattr__ = _finder(package, module)  # type: ignore[method-assign]


def _finder(package: dict[str, Any], module: ModuleType) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        if not name.startswith("__"):
            if name in package:
                return package[name]
            if "__getattr__" in package:
                with contextlib.suppress(AttributeError):
                    return package["__getattr__"](name)
        from compatgrad.names.absent import no_attribute

        raise no_attribute(module, name)

    return __getattr__
