"""Functions shared by the wrappers of torch modules."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.parameter import is_lazy

from compatgrad.core.foreign import advice, warn_of
from compatgrad.core.shared_memory import note_shared
from compatgrad.exporting.module import TorchModule

__all__ = ["check_module", "follow"]


def follow(parameter: torch.Tensor, data: torch.Tensor) -> None:
    """Makes the module's parameter use the memory of the framework's parameter, if that was replaced."""
    if data.data_ptr() != parameter.data_ptr():
        parameter.data = data
        note_shared(data)


def check_module(module: Any, who: str) -> None:
    """Raises TypeError or ValueError, with the name `who`, unless `module` is a module with parameters of known
    shapes."""
    if not isinstance(module, torch.nn.Module):
        kind = type(module)  # shown with its module, because there are links called Linear, too
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"{who}: module: expected a torch.nn.Module, got {name}" + advice(module, "torch"))
    for name, t in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(t):
            raise ValueError(f"{who}: module: parameter {name} has no shape yet: run the module once first")
    parts = ("_parameters", "_buffers", "_modules")  # in dicts of their own
    for part in module.modules():
        if isinstance(part, TorchModule):  # its parameters are those of its network
            continue
        attributes = {name: v for name, v in vars(part).items() if name not in parts}
        warn_of(part, "torch", module.parameters(), f"{who} does not find", attributes)
