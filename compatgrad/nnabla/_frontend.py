"""The engine's side of nnabla: its frontend object and the ops under it."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad import _C
from compatgrad import core as core  # the classes of plain tensors, inside composite functions
from compatgrad.core.declarations import Ops

fe = _C.Frontend("nnabla", "numpy")
fe.deferred = True
fe.record_constants = True

op = Ops(fe)


def constant(value: Any) -> Any:
    """A plain Variable around a tensor, for the bodies of functions; no gradient goes to it."""
    return core.Variable(torch.as_tensor(value), requires_grad=False)
