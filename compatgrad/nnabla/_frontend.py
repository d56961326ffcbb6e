"""The engine's side of nnabla: its frontend object and the ops under it."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad import _C
from compatgrad import core as core  # the classes of plain tensors, inside composite functions

fe = _C.Frontend("nnabla", "numpy")
fe.deferred = True
fe.record_constants = True


class Ops:
    """Every op of the engine as a function of nnabla Variables: ``op.sin(x)``."""

    def __init__(self) -> None:
        for name in _C.op_names():
            setattr(self, name, fe.bind(name, None, "any", name))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the engine has no op '{name}'")


op = Ops()


def constant(value: Any) -> Any:
    """A plain Variable around a tensor, for the bodies of functions; no gradient goes to it."""
    return core.Variable(torch.as_tensor(value), requires_grad=False)
