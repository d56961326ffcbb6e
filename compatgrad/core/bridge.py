"""Where a graph whose values come later (nnabla's) meets one that runs at once.

Each side sees the other as one function: its forward reads the other's value, its backward puts the gradient down. When
the pass is over, one pass of the other side goes on from all gradients that were put down.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from compatgrad import _C

__all__ = ["enter", "flush", "leave"]


class _Pending(threading.local):
    def __init__(self) -> None:
        self.gradients: list[tuple[Any, torch.Tensor]] = []
        self.running = False


_pending = _Pending()


class _Bridge:
    """One value of the other side, as the engine's host protocol asks for it (csrc/python/host.cpp)."""

    on_arrays, saves, integers = 0, 0, 0

    def __init__(self, source: Any) -> None:
        self.source = source

    def infer(self, shapes: Any) -> list[tuple[int, ...]]:
        return [tuple(self.source.shape)]

    def forward(self, tensors: Any) -> list[torch.Tensor]:
        return [_value(self.source)]

    forward_again = forward

    def backward(self, inputs: Any, outputs: Any, gradients: Sequence[Any], wanted: Sequence[bool]) -> list[None]:
        if gradients[0] is not None:
            _pending.gradients.append((self.source, gradients[0]))
        return [None] * len(wanted)

    def gradient(self, inputs: Any, outputs: Any, gradients: Any, wanted: Sequence[bool]) -> list[None]:
        raise NotImplementedError(
            "a gradient that is recorded does not cross from nnabla's graph into another frontend's, or back: take it "
            "on either side, or wrap one side with compatgrad.interop.as_torch_module"
        )


def _deferred(source: Any) -> bool:
    return isinstance(source, _C.DeferredVariable)


def _value(source: Any) -> torch.Tensor:
    if not _deferred(source):
        return source.tensor
    if source.parent is not None and not _C.get_mode("auto_forward"):
        source.forward(clear_no_need_grad=False)
    return source.data.read()


def enter(x: Any, variable_class: Any) -> Any:
    """The nnabla Variable that has the value of `x`, a Variable of another frontend, whenever its graph runs."""
    known = x.__dict__.get("_entered")
    if known is not None and (y := known()) is not None:
        return y  # one place, so that one gradient comes back
    anchor = variable_class((), need_grad=x.requires_grad)
    (y,) = _C.apply_host(variable_class._frontend, _Bridge(x), [anchor], None)
    if _C.get_mode("auto_forward"):
        y.data.tensor = x.tensor
    x.__dict__["_entered"] = weakref.ref(y)
    _C.set_after_backward(flush)
    return y


def leave(v: Any, frontend: Any) -> Any:
    """The Variable of `frontend` that has the value of `v`, an nnabla Variable, which is computed if it has to be."""
    anchor = frontend.variable_class.__new__(frontend.variable_class)
    anchor.tensor = torch.zeros(())
    anchor._set_requires_grad(v.parent is not None or bool(v.need_grad))
    (y,) = _C.apply_host(frontend, _Bridge(v), [anchor], None)
    _C.set_after_backward(flush)
    return y


def flush() -> None:
    """Goes on from the gradients that the last pass put down, until no side has any."""
    if _pending.running:
        return
    _pending.running = True
    try:
        while _pending.gradients:
            found, _pending.gradients = _pending.gradients, []
            eager: dict[str, list[tuple[Any, torch.Tensor]]] = {}
            for source, g in found:
                if _deferred(source):
                    _go_on_deferred(source, g)
                else:
                    eager.setdefault(source._frontend.name, []).append((source, g))
            for pairs in eager.values():
                _go_on(pairs)
    finally:
        _pending.running = False
        _pending.gradients = []


def _go_on(pairs: Sequence[tuple[Any, torch.Tensor]]) -> None:
    frontend = pairs[0][0]._frontend
    gys = []
    for x, g in pairs:
        gy = frontend.variable_class.__new__(frontend.variable_class)
        gy.tensor = g.to(x.tensor.dtype).reshape(x.tensor.shape)
        gy._set_requires_grad(False)
        gys.append(gy)
    _C.backward(frontend, [x for x, _ in pairs], gys)


def _go_on_deferred(v: Any, g: torch.Tensor) -> None:
    start = type(v.data)(v.shape)
    start.tensor = g.reshape(v.shape)
    if v.parent is not None:
        v.backward(start)
    elif v.need_grad:  # a leaf: as its own pass adds
        if v.grad.zeroing or not v.grad._touched:
            v.grad.tensor = start.tensor.clone()
        else:
            v.grad.tensor = v.grad.tensor + start.tensor
