"""The Python side of the engine: what the frontends share, and the native API over torch tensors."""

import os

import torch

from compatgrad.core import torch_habits as torch_habits  # attaches methods to Variable
from compatgrad.core.backprop import backward, grad
from compatgrad.core.configuration import force_backprop_mode, no_backprop_mode, using_debug, using_mode
from compatgrad.core.function import Function, FunctionNode
from compatgrad.core.hooks import FunctionHook
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
    "show_registry",
    "using_debug",
    "using_mode",
]

# A forked process has one thread; OpenMP would wait for ever for the others of its pool.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
