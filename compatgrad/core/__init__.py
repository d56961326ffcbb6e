"""The Python side of the engine: code shared by the frontends, and the native API for torch tensors."""

import os

import torch

from compatgrad.core import torch_habits as torch_habits  # attaches methods to Variable
from compatgrad.core.backprop import backward, grad
from compatgrad.core.configuration import force_backprop_mode, no_backprop_mode, using_debug, using_mode
from compatgrad.core.function import Function, FunctionNode
from compatgrad.core.hooks import FunctionHook
from compatgrad.core.kept_memory import release_memory
from compatgrad.core.registry import register, show_registry
from compatgrad.core.variable import Variable, VariableNode

__all__ = [
    "Function",
    "FunctionHook",
    "FunctionNode",
    "Variable",
    "VariableNode",
    "backward",
    "force_backprop_mode",
    "grad",
    "no_backprop_mode",
    "register",
    "release_memory",
    "show_registry",
    "using_debug",
    "using_mode",
]

# A forked process has only one thread, so OpenMP would wait forever for the other threads of its pool.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
