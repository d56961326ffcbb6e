"""Finds the mask of a dropout from the dropout's input, which is all that nnabla's backward of Dropout gets."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.configuration import using_modes
from compatgrad.nnabla._declare import Info
from compatgrad.nnabla._frontend import fe
from compatgrad.nnabla.functions import constant, not_equal_scalar

__all__: list[str] = []


def dropout_of(x: Any) -> Any:
    """The Dropout whose input is x. Raises RuntimeError if there is none."""
    for f in x.function_references:
        if f.info.type_name == "Dropout":
            return f
    raise RuntimeError(
        "dropout_backward: the input must be that of a F.dropout in the same graph; "
        f"the given variable of shape {tuple(x.shape)} is in none."
    )


class _Scale:
    """A function that returns, when it runs, the factor by which a Dropout last multiplied its input. It does not run
    the Dropout."""

    on_arrays, saves, integers = 0, 0, 0

    def __init__(self, dropout: Any) -> None:
        self.dropout, self.shape = dropout, tuple(dropout.inputs[0].shape)

    def infer(self, shapes: Any) -> list[tuple[int, ...]]:
        return [self.shape]

    def forward(self, tensors: Any) -> list[torch.Tensor]:
        with using_modes(auto_forward=True):
            (g,) = _C.function_gradient(self.dropout, [constant(1, self.shape)], [True])
        return [g.data.read()]

    forward_again = forward

    def backward(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[None]:
        return []

    gradient = backward


def scale_of(dropout: Any) -> Any:
    (value,) = _C.apply_host(fe, _Scale(dropout), [], Info("DropoutScale", {}))
    value.need_grad = False
    return value


def _get_dropout_mask(dropout_input: Any) -> Any:
    """A Variable that is 1 where the last forward of the Dropout with this input kept an element, else 0. Raises
    RuntimeError if there is no such Dropout.
    """
    with using_modes(auto_forward=True):
        mask = not_equal_scalar(scale_of(dropout_of(dropout_input)), 0)
    return mask.get_unlinked_variable(need_grad=False)
