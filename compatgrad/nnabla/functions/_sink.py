"""The function `sink`, implemented for the engine's host protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.nnabla.functions.create import constant


class Sink:
    """A function that only connects its inputs: its result is the scalar 0. `one_input_grad`: backward sets the
    gradient of every input to ones; otherwise the gradients stay as the user has set them.
    """

    on_arrays, saves, integers, keeps_gradients = 1, 0, 0, 1

    def __init__(self, spec: Any, inputs: Sequence[Any], args: Sequence[Any], n_outputs: int) -> None:
        (self.ones,) = args

    def infer(self, shapes: Any) -> list[tuple[int, ...]]:
        return [()]

    def forward(self, inputs: Any, outputs: Any) -> None:
        outputs[0][0].zero()

    def backward(self, inputs: Any, outputs: Any, wanted: list[bool], accumulate: list[bool]) -> None:
        for (_, grad), want, more in zip(inputs, wanted, accumulate, strict=True):
            if want and self.ones:
                if more:
                    grad.tensor += 1
                else:
                    grad.fill(1)

    def gradient(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[Any]:
        return [constant(1.0, x.shape) if w and self.ones else None for x, w in zip(inputs, wanted, strict=True)]
