"""Backward passes with checked arguments, for all frontends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from compatgrad import _C

__all__ = ["compute_grad", "set_grads", "start_backward", "unchain_backward"]


def _ones(frontend: _C.Frontend, y: _C.Variable, loss_scale: float | None) -> Any:
    """The gradient that a pass starts from if a program gives none."""
    ones = torch.ones_like(y.tensor)
    if loss_scale is not None:
        ones *= loss_scale
    return frontend.variable_class(ones, requires_grad=False)


def compute_grad(
    frontend: _C.Frontend,
    outputs: Sequence[_C.Variable],
    inputs: Sequence[_C.Variable],
    grad_outputs: Sequence[_C.Variable | None],
    grad_inputs: Sequence[_C.Variable | None] | None,
    *,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: float | None = None,
) -> list[Any]:
    """`grad` on checked arguments, for all frontends.

    Args:
        frontend: the frontend of the resulting gradients.
        outputs: the outputs.
        inputs: the inputs.
        grad_outputs: for each output the gradient to start from; None stands for ones times `loss_scale`.
        grad_inputs: for each input a Variable that is added to its gradient, or None.
        retain_grad: True stores the gradients of intermediate Variables in them.
        enable_double_backprop: True records the pass.
        loss_scale: the factor of the ones; None is 1.

    Returns:
        A Variable for each input, None for one that no path reaches.

    Raises:
        TypeError: an input is not a Variable.
        ValueError: `grad_outputs` has another length than `outputs`.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import _C
        >>> from compatgrad.core.passes import compute_grad
        >>> x = compatgrad.Variable(torch.tensor([1.0, 2.0]))
        >>> gx = compute_grad(_C.native_frontend, [x * 3], [x], [None], None)
        >>> gx[0].tensor
        tensor([3., 3.])

    Source: `compatgrad/core/passes.py`.
    """
    gys = [_ones(frontend, y, loss_scale) if gy is None else gy for y, gy in zip(outputs, grad_outputs, strict=True)]
    return _C.grad(frontend, outputs, inputs, gys, grad_inputs, retain_grad, loss_scale, enable_double_backprop)


def set_grads(inputs: Sequence[Any], gxs: Sequence[Any]) -> None:
    """Makes Variables the gradients of others.

    Args:
        inputs: the Variables that get gradients.
        gxs: their gradients, or None.

    Raises:
        ValueError: the sequences differ in length.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad.core.passes import set_grads
        >>> x = compatgrad.Variable(torch.zeros(1))
        >>> set_grads([x], [compatgrad.Variable(torch.ones(1))])
        >>> x.grad
        tensor([1.])

    Source: `compatgrad/core/passes.py`.
    """
    for x, gx in zip(inputs, gxs, strict=True):
        if not isinstance(x, _C.DeferredVariable):
            x.grad_var = gx
        elif gx is not None:  # its gradient is an array
            x.grad.tensor = gx.tensor.clone()


def start_backward(
    frontend: _C.Frontend,
    outputs: Sequence[_C.Variable],
    gys: Sequence[_C.Variable | None],
    *,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: float | None = None,
) -> None:
    """`backward` on checked arguments, for all frontends.

    Args:
        frontend: the frontend of the resulting gradients.
        outputs: the outputs.
        gys: for each output the gradient to start from; None stands for the output's own gradient, which is cleared, or
            without one for ones.
        retain_grad: True stores the gradients of intermediate Variables in them.
        enable_double_backprop: True records the pass.
        loss_scale: the factor of the ones; None is 1.

    Raises:
        ValueError: an output has neither a gradient nor one element.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import _C
        >>> from compatgrad.core.passes import start_backward
        >>> x = compatgrad.Variable(torch.tensor([1.0, 2.0]))
        >>> start_backward(_C.native_frontend, [x.sum()], [None], loss_scale=8.0)
        >>> x.grad
        tensor([8., 8.])

    Source: `compatgrad/core/passes.py`.
    """
    starts, used = [], []
    for y, gy in zip(outputs, gys, strict=True):
        if gy is None:
            gy = y.grad_var
            if gy is not None:
                used.append((y, gy))
        if gy is None:
            if y.tensor.numel() != 1:
                raise ValueError(
                    f"an output of shape {tuple(y.shape)} has no gradient to start from: "
                    "set its grad, or pass grad_outputs to compatgrad.backward"
                )
            gy = _ones(frontend, y, loss_scale)
        starts.append(gy)
    for y, _ in used:
        y.cleargrad_()
    try:
        _C.backward(frontend, outputs, starts, retain_grad, loss_scale, enable_double_backprop)
    except BaseException:
        for y, gy in used:
            y.grad_var = gy
        raise


def unchain_backward(variable: _C.Variable) -> None:
    """Cuts all functions that a Variable was computed by out of the graph.

    Args:
        variable: the Variable.

    Raises:
        AttributeError: `variable` is not a Variable.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad.core.passes import unchain_backward
        >>> y = compatgrad.Variable(torch.ones(2)) * 3
        >>> unchain_backward(y)
        >>> y.creator is None
        True

    Source: `compatgrad/core/passes.py`.
    """
    creator = variable.creator_node
    if creator is not None:
        creator._unchain_backward()
