"""What a dropout drew, found from its input: nnabla's backward of Dropout works this way."""

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
    """The Dropout that takes x. RuntimeError if there is none."""
    for f in x.function_references:
        if f.info.type_name == "Dropout":
            return f
    raise RuntimeError(
        "dropout_backward: the input must be that of a F.dropout in the same graph; "
        f"the given variable of shape {tuple(x.shape)} is in none."
    )


class _Scale:
    """Gives, when it runs, what a Dropout last multiplied its input with. It does not run the Dropout."""

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
    """A Variable with 1 where the last forward of the Dropout on this Variable kept an element, else 0.

    RuntimeError if no Dropout takes it.
    """
    with using_modes(auto_forward=True):
        mask = not_equal_scalar(scale_of(dropout_of(dropout_input)), 0)
    return mask.get_unlinked_variable(need_grad=False)
