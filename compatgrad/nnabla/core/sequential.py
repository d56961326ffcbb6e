"""`Sequential`, a chain of modules."""

from __future__ import annotations

from typing import Any

from .module import Module

__all__ = ["Sequential"]


class Sequential(Module):
    """A chain of modules, each of which is called with the result of the one before.

    Args:
        *args: the modules, or pairs of a name and a module.

    Raises:
        TypeError: an argument is not a Module.

    Example:
        >>> class Dense(nn.Module):
        ...     def call(self, x):
        ...         return PF.affine(x, 4)
        >>> net = nn.Sequential(Dense(), ("last", Dense()))
        >>> net(nn.Variable((2, 3))).shape, list(net.submodules)
        ((2, 4), ['dense_0', 'last'])

    Source: `nnabla.core.sequential.Sequential` of nnabla 1.39.0.
    """

    def __init__(self, *args: Module | tuple[str, Module]) -> None:
        for index, given in enumerate(args):
            name, module = given if isinstance(given, tuple) else (None, given)
            if not isinstance(module, Module):
                raise TypeError(f"Sequential: expected a Module, got {type(module).__name__}")
            self.submodules[name or f"{module.name}_{index}"] = module

    def call(self, *args: Any, **kwargs: Any) -> Any:
        result: Any = args
        for module in self.submodules.values():
            args = result if isinstance(result, tuple) else (result,)
            result = module(*args, **kwargs)
        return result
