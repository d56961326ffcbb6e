"""Exports of functions that run a backward pass: their graphs also return the gradients, or write them."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from compatgrad.exporting import _target as targets
from compatgrad.exporting._run import Exporter, close
from compatgrad.exporting._trace import ExportError

__all__ = ["StepExporter"]

# What the gradients are before two runs, which show what a function does with them. The difference is exact in float16.
_FIRST, _SECOND = 1.0, 1025.0


class StepExporter(Exporter):
    """One export of a function with the gradients that it leaves in its parameters and inputs.

    `leaves`: whether it leaves any. `ways`: what it does with the gradient of a receiver (a number in
    `Target.receivers`): it replaces it ("write"), adds to it ("add") or removes it ("clear"). `written`: pairs of a
    name in the state and the parameter whose gradient this is, if passes write gradients to arrays.
    """

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: Any, check: bool) -> fx.GraphModule:
        self.ways: dict[int, str] = {}
        self.written: list[tuple[str, Any]] = []
        self.leaves = False
        self._doubtful: list[int] = []
        gm = super().run(args, kwargs, dynamic, check)
        if self._doubtful and not self.random:
            raise ExportError(
                f"{self.who}: the function changes the gradient of {self._receiver(self._doubtful[0])} in another way "
                "than replacing it or adding to it: clear gradients inside the function first"
            )
        return gm

    def _receiver(self, k: int) -> str:
        frontend = self.target.frontend
        names = [] if frontend is None else [name for name, _ in frontend.parameters(self.target.holder)]
        names += list(self.target.given or ())
        names += [name for name, receives in zip(self.names, self.target.receiving, strict=True) if receives]
        return str(names[k])

    def _first_call(self, state: Any) -> Any:
        result = super()._first_call(state)
        self.leaves = self.target.leaves_gradients
        if not self.leaves:
            return result
        if True in self.marked:
            raise ExportError(
                f"{self.who}: {self.names[self.marked.index(True)]} has an attached gradient, which a compiled "
                "function does not write: attach the gradient inside the function and return it"
            )
        self.places = []  # all sizes are fixed
        for k, v in enumerate(self.target.variables()):
            if (buffer := targets.buffer_of(v)) is not None:
                name = f"_gradient_{k}"
                self.module.register_buffer(name, buffer.tensor)
                state[name] = self.module.get_buffer(name)
                self.written.append((name, v))
        pairs = list(zip(self._gradients_from(_FIRST, state), self._gradients_from(_SECOND, state), strict=True))
        self.ways = {k: way for k, (a, b) in enumerate(pairs) if (way := self._way(k, a, b))}
        self.target.returned = [k for k, way in self.ways.items() if way != "clear"]
        return result

    def _gradients_from(self, value: float, state: Any) -> list[torch.Tensor | None]:
        """The receivers' gradients after a call, if they are `value` before."""
        target, generator = self.target, torch.get_rng_state()
        target.first_gradients = value
        target.returned = range(len(target.receivers([None] * len(self.examples))))
        try:
            with target.unchanged(state), targets.Undo():
                return [None if g is None else g.clone() for g in self._call()[1]]
        finally:
            target.first_gradients = target.returned = None
            torch.set_rng_state(generator)

    def _way(self, k: int, a: torch.Tensor | None, b: torch.Tensor | None) -> str:
        if a is None or b is None:
            return "clear"
        if bool((a == _FIRST).all()) and bool((b == _SECOND).all()):
            return ""
        added = _SECOND - _FIRST
        way = "write" if float((b - a).double().abs().nanmean()) < added / 2 else "add"
        expected = a if way == "write" else a + added
        if not close(expected, b, added if way == "add" else 0.0):
            self._doubtful.append(k)
        return way
