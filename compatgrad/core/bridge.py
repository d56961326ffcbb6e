"""Where a graph whose values come later (nnabla's) meets one that runs at once.

The engine's nodes of both are of one kind, so the two are one graph, and a pass of either goes through it. Between them
stands a function that gives one side's value to the other. Its gradient is such a function in the other direction.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch

from compatgrad import _C

__all__ = ["cross", "leave", "left"]


class Bridge:
    """One value of the other side, as the engine's host protocol asks for it (csrc/python/host.cpp)."""

    on_arrays, saves, integers = 0, 0, 0

    def __init__(self, x: Any, dtype: torch.dtype | None) -> None:
        self.node, self.frontend, self.dtype = x.node, x._frontend, dtype
        # weak: a Chainer Variable's own gradient may have this function in its graph
        self.variable = weakref.ref(x)
        self.value = None if isinstance(x, _C.DeferredVariable) else x.tensor

    @property
    def source(self) -> Any:
        """The Variable of the other side."""
        x = self.variable()
        return self.node.get_variable() if x is None else x

    def infer(self, shapes: Any) -> list[tuple[int, ...]]:
        return [tuple(self.node.shape)]

    def forward(self, tensors: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        x = self.variable()
        if self.value is not None and x is not None:  # a static graph reads what its sources hold each time it runs
            self.value = x.tensor
        value: Any = tensors[0] if self.value is None else self.value
        return [value if self.dtype is None else value.to(self.dtype)]

    forward_again = forward

    def backward(self, inputs: Any, outputs: Any, gradients: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        return [gradients[0]]

    def gradient(self, inputs: Any, outputs: Any, gradients: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        dtype = self.node.dtype
        return [
            cross(gradients[0], self.frontend, dtype if isinstance(dtype, torch.dtype) else getattr(torch, dtype.name))
        ]


def cross(x: Any, frontend: Any, dtype: torch.dtype | None = None) -> Any:
    """The Variable of `frontend` that has the value of `x`, one of a frontend whose graph runs at another time.

    What of a static graph has not run yet runs, where its value is wanted now; the rest stays as it is.
    """
    if not isinstance(x, _C.DeferredVariable) and x.tensor is None:
        raise ValueError(f"a {x._frontend.name} Variable without a value cannot go to {frontend.name}")
    (y,) = _C.apply_host(frontend, Bridge(x, dtype), [x], None)
    return y


def leave(v: Any, frontend: Any) -> Any:
    """`cross` of an nnabla Variable, whose static graph runs first, on what its inputs hold now."""
    if v.parent is not None and not _C.get_mode("auto_forward"):
        v.forward(clear_no_need_grad=False)
    return cross(v, frontend)


def left(inputs: Sequence[Any], frontend: Any) -> tuple[Any, ...] | None:
    """Inputs of a function that runs at once, nnabla Variables as the frontend's; None where there are none."""
    if not any(isinstance(x, _C.DeferredVariable) for x in inputs):
        return None
    return tuple(leave(x, frontend) if isinstance(x, _C.DeferredVariable) else x for x in inputs)
