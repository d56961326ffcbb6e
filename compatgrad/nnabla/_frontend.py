"""The engine's `Frontend` of nnabla, and the ops that belong to it."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad import _C
from compatgrad import core as core  # inside composite functions, Variables are of these classes
from compatgrad.core.declarations import Ops

fe = _C.Frontend("nnabla", "numpy")
fe.deferred = True
fe.record_constants = True

op = Ops(fe)


def constant(value: Any) -> Any:
    """A plain Variable of a tensor, without a gradient, for the bodies of functions."""
    return core.Variable(torch.as_tensor(value), requires_grad=False)
