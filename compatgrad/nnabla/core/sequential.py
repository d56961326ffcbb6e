"""Modules in a row."""

from __future__ import annotations

from typing import Any

from .module import Module

__all__ = ["Sequential"]


class Sequential(Module):
    """Calls modules one after the other, each on what the one before returned.

    They are given one by one, or as pairs of a name and a module. TypeError for anything else.
    """

    def __init__(self, *args: Module | tuple[str, Module]) -> None:
        for index, given in enumerate(args):
            name, module = given if isinstance(given, tuple) else (None, given)
            if not isinstance(module, Module):
                raise TypeError(f"Sequential: a Module is needed, not {type(module).__name__}")
            self.submodules[name or f"{module.name}_{index}"] = module

    def call(self, *args: Any, **kwargs: Any) -> Any:
        result: Any = args
        for module in self.submodules.values():
            args = result if isinstance(result, tuple) else (result,)
            result = module(*args, **kwargs)
        return result
