"""MXNet defines much of a package in one module of it, from which programs import; here the package knows."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def of_package(module: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for `module`, which finds there what its package has."""
    package, _, own = module.rpartition(".")

    def __getattr__(name: str) -> Any:
        if not name.startswith("__"):
            try:
                return getattr(importlib.import_module(package), name)
            except AttributeError:
                pass
        raise AttributeError(f"module 'mxnet.{package.rpartition('mxnet.')[2]}.{own}' has no attribute '{name}'")

    return __getattr__
