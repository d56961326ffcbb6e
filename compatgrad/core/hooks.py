"""Function hooks: objects with methods that are called for every function that runs forward or backward."""

from __future__ import annotations

from typing import Any

from compatgrad import _C
from compatgrad.core import notes

__all__ = ["FunctionHook"]


class FunctionHook(_C.HookBlock):
    """Base class of function hooks. `with hook:` activates a hook for all functions of the thread,
    `node.add_hook(hook)` for one function.

    The methods get the function node and the arrays (in the native frontend: tensors) of its inputs; the backward
    methods also get the arrays of the output gradients, None for a missing one. In backward, data that a function did
    not retain is None. Entering a hook whose `name` is already active raises KeyError.

        >>> import torch
        >>> import compatgrad
        >>> class Names(compatgrad.FunctionHook):
        ...     def forward_postprocess(self, function, in_data):
        ...         print(function.label, [tuple(x.shape) for x in in_data])
        >>> x = compatgrad.Variable(torch.ones(2, 3))
        >>> with Names():
        ...     y = compatgrad.ops.exp(x).sum()
        exp [(2, 3)]
        sum [(2, 3)]

    Source: `compatgrad/core/hooks.py`, `csrc/python/hooks.cpp`.
    """

    name = "FunctionHook"

    def __init__(self) -> None:  # without this the compiled base class would accept any arguments
        super().__init__()

    def __enter__(self) -> FunctionHook:
        hooks = _C.function_hooks()
        if self.name in hooks:
            raise KeyError(f"hook {self.name} already exists")
        if notes.listener is not None:
            notes.listener("hook", self)
        hooks[self.name] = self
        try:
            self.added(None)
        except BaseException:
            del hooks[self.name]  # a hook that could not start must not stay in the thread
            raise
        return self

    def added(self, function: Any) -> None:
        """Called when the hook becomes active; `function` is None for the whole thread."""

    def deleted(self, function: Any) -> None:
        """Called when the hook is removed; `function` is None for the whole thread."""

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called before a forward. `in_data`: a tuple with the array of each input, or None."""

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called after a forward that raised nothing, with the same `in_data`."""

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called before a backward. `out_grad`: a tuple with the array of each output's gradient, or None."""

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called after a backward that raised nothing, with the same arguments."""


_C.set_hook_base(FunctionHook)
