"""Connections between a graph whose values are computed later (nnabla's) and a graph that runs at once.

Both consist of the same engine nodes, so the two are one graph, and a pass of either side goes through it. A function
between them passes a value from one side to the other. Its gradient is such a function in the other direction.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from compatgrad import _C

__all__ = ["cross", "leave", "left"]


class Bridge:
    """A function without inputs whose value is that of a Variable on the other side. The engine calls its methods
    (csrc/python/host.cpp).

    Args:
        x: the Variable of the other side.
        dtype: dtype of the result; None keeps the dtype of `x`.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad.core.bridge import Bridge
        >>> Bridge(compatgrad.Variable(torch.ones(2)), torch.float64).forward([None])
        [tensor([1., 1.], dtype=torch.float64)]

    Source: `compatgrad/core/bridge.py`.
    """

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
        """The shape of the result."""
        return [tuple(self.node.shape)]

    def forward(self, tensors: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        """The value of the other side's Variable, read when the function runs."""
        x = self.variable()
        if self.value is not None and x is not None:  # a static graph reads its sources' current values in each run
            self.value = x.tensor
        value: Any = tensors[0] if self.value is None else self.value
        return [value if self.dtype is None else value.to(self.dtype)]

    forward_again = forward

    def backward(self, inputs: Any, outputs: Any, gradients: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        """The gradient, unchanged, as a tensor."""
        return [gradients[0]]

    def gradient(self, inputs: Any, outputs: Any, gradients: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        """The gradient as a Variable of the other side."""
        dtype = self.node.dtype
        return [
            cross(gradients[0], self.frontend, dtype if isinstance(dtype, torch.dtype) else getattr(torch, dtype.name))
        ]


def cross(x: Any, frontend: Any, dtype: torch.dtype | None = None) -> Any:
    """Converts a Variable to a frontend whose graph runs at another time. If the value is needed now, those functions
    of a static graph run that have not run yet.

    Args:
        x: the Variable.
        frontend: the other frontend's `_C.Frontend` (`variable_class._frontend`).
        dtype: dtype of the result; None keeps the dtype of `x`.

    Returns:
        A Variable of the other frontend, with the same value and in the same graph.

    Raises:
        ValueError: `x` belongs to a graph that runs at once and has no value.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad.core.adapters import FRONTENDS
        >>> from compatgrad.core.bridge import cross
        >>> x = cross(compatgrad.Variable(torch.tensor([1.0, 2.0])), FRONTENDS["nnabla"].variable_class._frontend)
        >>> y = x * 2
        >>> y.forward()
        >>> y.d
        array([2., 4.], dtype=float32)

    Source: `compatgrad/core/bridge.py`.
    """
    if not isinstance(x, _C.DeferredVariable) and x.tensor is None:
        raise ValueError(f"a {x._frontend.name} Variable without a value cannot go to {frontend.name}")
    enters = frontend.deferred and not isinstance(x, _C.DeferredVariable)
    if enters and dtype is None and x.tensor.dtype == torch.float64:
        dtype = torch.float32  # nnabla computes in float32, and writes statistics into float32 arrays
    (y,) = _C.apply_host(frontend, Bridge(x, dtype), [x], None)
    if enters and dtype is not None:
        object.__setattr__(y, "copied", True)  # what a function writes into it would be lost
    if enters and not _C.get_mode("auto_forward"):
        y.forward()  # functions whose result's shape depends on values read them when they are called
    return y


def leave(v: Any, frontend: Any) -> Any:
    """Converts an nnabla Variable to a frontend that runs at once. Its static graph runs first, on the current values
    of its inputs.

    Args:
        v: the nnabla Variable.
        frontend: the other frontend's `_C.Frontend` (`variable_class._frontend`).

    Returns:
        A Variable of the other frontend.

    Raises:
        AttributeError: `v` is not an nnabla Variable.

    Example:
        >>> import numpy as np
        >>> import compatgrad.nnabla as nn
        >>> from compatgrad.core.adapters import FRONTENDS
        >>> from compatgrad.core.bridge import leave
        >>> x = nn.Variable.from_numpy_array(np.array([1.0, 2.0]))
        >>> leave(x * 2, FRONTENDS["chainer"].variable_class._frontend)
        variable([2., 4.])

    Source: `compatgrad/core/bridge.py`.
    """
    if v.parent is not None and not _C.get_mode("auto_forward"):
        v.forward(clear_no_need_grad=False)
    # nnabla computes in float32, also if a program has assigned a float64 array to a leaf
    return cross(v, frontend, torch.float32 if v.data.dtype == np.float64 else None)


def left(inputs: Sequence[Any], frontend: Any) -> tuple[Any, ...] | None:
    """Converts the nnabla Variables among the inputs of a function to the frontend that runs it at once.

    Args:
        inputs: the inputs.
        frontend: the frontend's `_C.Frontend` (`variable_class._frontend`).

    Returns:
        The inputs with Variables of the frontend; None if no input is an nnabla Variable.

    Raises:
        TypeError: `inputs` cannot be iterated over.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import _C
        >>> from compatgrad.core.bridge import left
        >>> left([compatgrad.Variable(torch.ones(2))], _C.native_frontend) is None
        True

    Source: `compatgrad/core/bridge.py`.
    """
    if not any(isinstance(x, _C.DeferredVariable) for x in inputs):
        return None
    return tuple(leave(x, frontend) if isinstance(x, _C.DeferredVariable) else x for x in inputs)
