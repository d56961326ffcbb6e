"""`FunctionHook`, as Chainer's `chainer.function_hook` has it."""

from __future__ import annotations

from compatgrad.core import hooks


class FunctionHook(hooks.FunctionHook):
    """Base of the hooks that see every function run, forward and backward. See `compatgrad.FunctionHook`."""

    name = "FunctionHook"
