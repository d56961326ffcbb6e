"""Conversion of Variables to those of another frontend, and to tensors of torch's graph."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from compatgrad import _C
from compatgrad.core import bridge
from compatgrad.core.adapters import FRONTENDS
from compatgrad.core.configuration import using_modes

__all__ = ["refuse_transforms", "to"]


def to(frontend: str, x: Any) -> Any:
    """Converts a Variable or tensor to the type of another frontend, with its value and its place in the graph.
    Derivatives of any order pass through. Conversions to and from nnabla add a function to the graph, which reads the
    value when its own graph runs. Functions of the other frontends accept each other's Variables without conversion;
    between them this is for code that checks types.

    Args:
        frontend: "chainer", "nnabla", "mxnet", "compatgrad" or "torch".
        x: a Variable of any frontend, or a torch tensor.

    Returns:
        The Variable. For "torch", a tensor whose gradient continues in the graph of the Variable, or a plain tensor
        under `torch.no_grad()`. A tensor that requires torch's grad becomes a Variable whose gradient continues in
        torch's graph.

    Raises:
        RuntimeError: the call is inside a transform of torch.func or forward-mode differentiation.
        TypeError: `x` is neither a Variable nor a tensor.
        ValueError: `frontend` is unknown, or `x` is a Variable without a value.

    Example:
        >>> import torch
        >>> from compatgrad import interop
        >>> t = torch.tensor([2.0], requires_grad=True)
        >>> y = interop.to("chainer", t) ** 2
        >>> type(y).__name__, y.array
        ('Variable', array([4.], dtype=float32))
        >>> interop.to("torch", y).sum().backward()
        >>> t.grad
        tensor([4.])

    Source: `compatgrad/core/crossing.py`.
    """
    if not isinstance(frontend, str) or (frontend != "torch" and frontend not in FRONTENDS):
        raise ValueError(f"interop.to: frontend: expected one of {', '.join(FRONTENDS)} or torch, got {frontend!r}")
    if isinstance(x, torch.Tensor):
        if frontend == "torch":
            return x
        refuse_transforms("interop.to")
        first = FRONTENDS["compatgrad" if x.requires_grad and FRONTENDS[frontend].deferred else frontend]
        x = _C.torch_enter(first.variable_class._frontend, x) if x.requires_grad else first.variable(x, True)
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
    adapter = FRONTENDS[frontend]
    cls = adapter.variable_class
    if adapter.deferred:
        return bridge.cross(x, cls._frontend)
    if isinstance(x, _C.DeferredVariable):
        with using_modes(recording=True):  # keeps the history of MXNet's Variables in any case
            return bridge.leave(x, cls._frontend)
    y = cls.__new__(cls)
    y.tensor = x.tensor
    _C.share_place(y, x)
    return y


def _as_tensor(x: Any) -> torch.Tensor:
    if isinstance(x, _C.DeferredVariable):
        x = bridge.leave(x, FRONTENDS["compatgrad"].variable_class._frontend)
    tensor: torch.Tensor = _C.torch_leave(x._frontend, [x])[0] if torch.is_grad_enabled() else x.tensor
    return tensor


def refuse_transforms(who: str) -> None:
    """Raises an error inside torch's transforms and forward-mode differentiation, which do not support the engine's
    graph.

    Args:
        who: the name of the caller in the message.

    Raises:
        RuntimeError: the call is inside a transform of torch.func or forward-mode differentiation.

    Example:
        >>> from compatgrad.core.crossing import refuse_transforms
        >>> refuse_transforms("f")

    Source: `compatgrad/core/crossing.py`.
    """
    level = torch._C._functorch.peek_interpreter_stack()
    transformed = level is not None and level.key() != torch._C._functorch.TransformType.Functionalize
    if transformed or forward_ad._current_level >= 0:
        raise RuntimeError(
            f"{who}: forward-mode differentiation and the transforms of torch.func do not support the engine's graph; "
            "torch.autograd computes derivatives of any order"
        )
