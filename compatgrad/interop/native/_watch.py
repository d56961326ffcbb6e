"""Replaces functions of a frontend while a network is recorded, so that their calls become one call of a layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from compatgrad import _C
from compatgrad.interop.native._gathered import Numbers
from compatgrad.interop.native._layers import Layer

__all__ = ["Watch", "is_zero", "tensor_of"]


def tensor_of(v: Any) -> torch.Tensor:
    if isinstance(v, _C.DeferredVariable):
        return v.data.read()  # type: ignore[no-any-return]
    return v.tensor if isinstance(v, _C.Variable) else torch.as_tensor(v)


class Watch:
    """Replaces the calls of a frontend's function in a trace by one call of a layer of torch. trace: of `_record`."""

    def __init__(self, trace: Any, numbers: Numbers) -> None:
        self.trace, self.numbers = trace, numbers
        self.start = 0

    def new_call(self, layer: Layer, inputs: list[Any], outputs: list[torch.Tensor | None]) -> tuple[list[Any], Any]:
        found: tuple[list[Any], Any] = self.trace.new_call(layer, inputs, outputs, self.start)
        return found

    def names(self, v: Any) -> torch.Tensor | None:
        """The numbers of a Variable."""
        with _disable_current_modes():
            return self.numbers.of(self.trace.value(tensor_of(v)))

    def states(self, given: Sequence[Any], change: str = "") -> tuple[list[Any], str]:
        """First states as Values, and as text of the call's second argument; none for zeros."""
        values = [self.trace.value(tensor_of(v)) for v in given]
        with _disable_current_modes():
            if all(map(is_zero, values)):
                return [], ""
        texts = [f"{{{k + 1}}}{change}" for k in range(len(values))]
        return values, f", ({', '.join(texts)})" if len(texts) > 1 else f", {texts[0]}"

    def run(self, original: Callable[[], Any], write: Callable[[Any], list[Any] | None]) -> Any:
        """The original's result. write: makes of the result the calls that replace the original's, or None."""
        self.trace._finish()
        start = len(self.trace.calls)
        result = original()
        self.trace._finish()
        self.start = start
        with _disable_current_modes():
            made = write(result)
        if made is not None:
            del self.trace.calls[start:]
            self.trace.calls += made
            self.trace._start = len(self.trace.calls)
        return result


def is_zero(v: Any) -> bool:
    while v.kind == "result" and v.source.op in (torch.ops.aten.view.default, torch.ops.aten.clone.default,
                                                 torch.ops.aten.unbind.int, torch.ops.aten.expand.default):  # fmt: skip
        v = v.source.args[0]
    if v.kind == "constant":
        return bool((v.source == 0).all())
    if v.kind != "result":
        return False
    op = str(v.source.op)
    return op.startswith(("aten.zeros.", "aten.zeros_like.")) or (op == "aten.full.default" and v.source.args[1] == 0)
