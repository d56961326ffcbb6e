"""Variables of one frontend as Variables of another, and as tensors of torch's graph."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad import _C
from compatgrad.core import bridge
from compatgrad.core.configuration import using_modes
from compatgrad.interop._frontends import FRONTENDS
from compatgrad.interop._module import refuse_transforms

__all__ = ["to"]


def to(frontend: str, x: Any) -> Any:
    """What has x's value and place in the graph, in `frontend`: "chainer", "nnabla", "mxnet", "compatgrad" or "torch".

    x is a Variable or a torch tensor. As "torch" it is a tensor whose gradient goes on in the graph of the Variable;
    a tensor that requires torch's grad becomes a Variable whose gradient goes on in torch's graph. To and from nnabla a
    function stands between, which reads the value when its own graph runs. All at any order of derivative. Functions
    of the frontends that run at once take each other's Variables as they are; between them this is for code that asks
    for a type. Under `torch.no_grad()` a Variable to "torch" is a plain tensor.
    TypeError where x is neither Variable nor tensor, ValueError for an unknown frontend or a Variable without a value,
    RuntimeError inside transforms of torch.func and forward-mode differentiation.
    """
    if not isinstance(frontend, str) or (frontend != "torch" and frontend not in FRONTENDS):
        raise ValueError(f"interop.to: frontend: expected one of {', '.join(FRONTENDS)} or torch, got {frontend!r}")
    if isinstance(x, torch.Tensor):
        if frontend == "torch":
            return x
        refuse_transforms("interop.to")
        own = FRONTENDS["compatgrad" if frontend == "nnabla" and x.requires_grad else frontend]
        x = _C.torch_enter(own.variable_class()._frontend, x) if x.requires_grad else own.variable(x, True)
    elif not isinstance(x, _C.Variable):
        raise TypeError(f"interop.to: x: expected a Variable or a tensor, got {type(x).__name__}")
    own = x._frontend.name
    if own == frontend or own.startswith(f"{frontend}."):
        return x
    if not isinstance(x, _C.DeferredVariable) and x.tensor is None:
        raise ValueError(f"interop.to: x: expected a Variable with a value, got one of {own} that has none yet")
    if frontend == "torch":
        refuse_transforms("interop.to")
        return _as_tensor(x)
    cls = FRONTENDS[frontend].variable_class()
    if frontend == "nnabla":
        return bridge.cross(x, cls._frontend)
    if isinstance(x, _C.DeferredVariable):
        with using_modes(recording=True):  # MXNet's Variables come in with their history in any case
            return bridge.leave(x, cls._frontend)
    y = cls.__new__(cls)
    y.tensor = x.tensor
    _C.share_place(y, x)
    return y


def _as_tensor(x: Any) -> torch.Tensor:
    if isinstance(x, _C.DeferredVariable):
        x = bridge.leave(x, FRONTENDS["compatgrad"].variable_class()._frontend)
    return _C.torch_leave(x._frontend, [x])[0] if torch.is_grad_enabled() else x.tensor
