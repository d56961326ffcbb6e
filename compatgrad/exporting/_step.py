"""Exports of functions that run backward passes: the graphs also return the gradients, or write them to arrays."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.utils import _pytree

from compatgrad import _C
from compatgrad.exporting import _target as targets
from compatgrad.exporting._run import Exporter, close
from compatgrad.exporting._trace import ExportError

__all__ = ["StepExporter"]

# What fills all gradients before each of two runs, whose results show whether a function replaces gradients or adds to
# them. The difference is exact in float16.
_FIRST, _SECOND = 1.0, 1025.0


class StepExporter(Exporter):
    """One export of a function with the gradients that it leaves in its parameters and inputs.

    `leaves`: whether the function leaves any. `ways`: what the function does with the gradient of a receiver (a number
    in `Target.receivers`): it replaces the gradient ("write"), adds to it ("add") or removes it ("clear"). `written`:
    where passes write gradients to arrays, pairs of the name that such an array has in the state and its parameter.
    `records`: whether functions are recorded, without which passes leave nothing.
    """

    def __init__(
        self, who: str, target: Any, parameters: Any, frontend: str | None, train: bool, records: bool = True
    ) -> None:
        super().__init__(who, target, parameters, frontend, train)
        self.records = self.target.records = records

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: Any, check: bool) -> fx.GraphModule:
        self.ways: dict[int, str] = {}
        self.written: list[tuple[str, Any]] = []
        self.leaves = False
        self._doubtful: list[int] = []
        self._repeats = True  # whether equal calls return equal results
        gm = super().run(args, kwargs, dynamic, check)
        if self._doubtful and self._repeats:
            raise ExportError(
                f"{self.who}: the function changes the gradient of {self._receiver(self._doubtful[0])} in another way "
                "than replacing it or adding to it: clear gradients inside the function first"
            )
        return gm

    def _receiver(self, k: int) -> str:
        names = [name for name, v in self.target.named() if targets.buffer_of(v) is None]
        names += [name for name, receives in zip(self.names, self.target.receiving, strict=True) if receives]
        return str(names[k])

    def _first_call(self, state: Any) -> Any:
        known = {id(v) for v in self.target.variables()}
        others = [v for v in (*targets.outside(self.target.target), *self._registered()) if id(v) not in known]
        kept = [(v, targets.kept_gradient(v), targets.has_gradient(v)) for v in others]
        for v in others:
            targets.clear_gradient(v)
        try:
            result = super()._first_call(state)
            known |= {id(v) for v in others}
            made = [v for v in self._registered() if id(v) not in known]  # by this call
            reached = [v for v in (*others, *made) if targets.has_gradient(v)]
        finally:
            for v, g, fresh in kept:
                targets.put_gradient(v, g)
                if targets.buffer_of(v) is not None:
                    _C.fresh(v, fresh)
        if reached:
            v = reached[0]
            name = getattr(v, "name", None) or "a Variable"
            raise ExportError(
                f"{self.who}: the function runs backward and leaves a gradient in {name} of shape {tuple(v.shape)}, "
                "which is not among the parameters: pass the link, the block or a dict of Variables by parameters="
            )
        self.leaves = self.target.leaves_gradients or (not self.records and self._clears(state))
        self._left = list(self.target.left)
        if not self.leaves:
            if not any(isinstance(y, torch.Tensor) for y in _pytree.tree_leaves(result)):
                raise ExportError(
                    f"{self.who}: the function returns no Variable and leaves no gradients, so that a graph would "
                    "compute nothing: return the Variables that it computes"
                )
            return result
        if True in self.marked:
            raise ExportError(
                f"{self.who}: {self.names[self.marked.index(True)]} has an attached gradient, which a compiled "
                "function does not write: attach the gradient inside the function and return it"
            )
        if self.target.is_on_several_devices():
            raise ExportError(f"{self.who}: the function runs backward, but its parameters are on several devices")
        frontend = self.target.frontend
        counted = (
            frontend is not None and frontend.gradient_requests(self.target.holder) and self.module._legacy_buffers
        )
        if self._made and counted:
            raise ExportError(
                f"{self.who}: parameters got their shapes in this call, and so running statistics counted it twice: "
                "call the block once before, and initialize it again if they matter"
            )
        self.places = []  # all sizes are fixed
        for k, v in enumerate(self.target.variables()):
            if (buffer := targets.buffer_of(v)) is not None:
                name = f"_gradient_{k}"
                self.module.register_buffer(name, buffer.tensor)
                state[name] = self.module.get_buffer(name)
                self.written.append((name, v))
        self._refuse_memory(state)
        left = self._left
        ways = [self._way(k, a, b, left[k]) for k, (a, b) in enumerate(self._pairs(state))]
        if None in ways:  # NaN does not show what was added; with inputs of zeros a gradient may be finite
            examples, self.examples = self.examples, [_zeros(x) for x in self.examples]
            try:
                ways = [
                    self._way(k, a, b, left[k]) if way is None else way
                    for k, (way, (a, b)) in enumerate(zip(ways, self._pairs(state), strict=True))
                ]
            finally:
                self.examples = examples
        if None in ways:
            raise ExportError(
                f"{self.who}: the gradient of {self._receiver(ways.index(None))} is not finite at the first call, "
                "which shows what the function does with gradients: compile it for other inputs"
            )
        self.ways = {k: way for k, way in enumerate(ways) if way}
        self.target.returned = [k for k, way in self.ways.items() if way != "clear"]
        return result

    def _clears(self, state: Any) -> bool:
        """Whether a call removes gradients."""
        return any(g is None for g in self._gradients_from(_FIRST, state))

    _no_inputs = (
        "a call needs a tensor, an array or a Variable among its arguments, found none; values that the function "
        "takes from elsewhere are fixed in the graph, so pass what changes as an argument"
    )

    def left_out(self) -> str:
        """The name and shape of a Variable that needs a gradient, and whose values the graph contains; else empty."""
        for v in (*targets.outside(self.target.target), *self._registered()):
            if targets.needs_gradient(v) and targets.tensor_of(v).data_ptr() in self.fixed:
                return f"{getattr(v, 'name', None) or 'a Variable'} of shape {tuple(v.shape)}"
        return ""

    def _registered(self) -> list[Any]:
        return [] if self.target.frontend is None else list(self.target.frontend.registered())

    def _stateful(self) -> torch.nn.Module:
        """As in the base class, except that a call that only makes parameters leaves no gradients."""
        self._made = False
        self.target.records = False
        try:
            return super()._stateful()
        finally:
            self.target.records = self.records
            if self._made:  # Gluon's blocks record in spite of the mode
                self.target.clear_gradients()

    def _call(self) -> Any:
        self._made |= self.target.records is not self.records
        return super()._call()

    def _refuse_memory(self, state: Any) -> None:
        """Raises an error if a second call differs from the first because of what the first leaves in attributes."""
        first, again, second = (self._after(calls, state) for calls in (1, 1, 2))
        self._repeats = _same(first, again)
        if self._repeats and not _same(first, second):
            raise ExportError(
                f"{self.who}: the function keeps a state between calls, which a graph does not contain: reset it "
                "inside the function, or pass it in and return it"
            )

    def _after(self, calls: int, state: Any) -> list[torch.Tensor | None]:
        """Results and gradients of the last of so many calls, all of which begin with the same values of the arrays."""
        target, generator = self.target, torch.get_rng_state()
        target.returned = range(len(target.receivers([None] * len(self.examples))))
        try:
            with target.unchanged(state):
                for _ in range(calls):
                    torch.set_rng_state(generator)
                    target.clear_gradients()
                    with targets.Undo():
                        leaves = _pytree.tree_leaves(self._call())
                        found = [t.detach().clone() if isinstance(t, torch.Tensor) else None for t in leaves]
            return found
        finally:
            target.returned = None
            torch.set_rng_state(generator)

    def _pairs(self, state: Any) -> list[tuple[torch.Tensor | None, torch.Tensor | None]]:
        """For each receiver the gradients after calls that began with `_FIRST` and `_SECOND`."""
        return list(zip(self._gradients_from(_FIRST, state), self._gradients_from(_SECOND, state), strict=True))

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

    def _way(self, k: int, a: torch.Tensor | None, b: torch.Tensor | None, left: bool) -> str | None:
        """What a call does with the gradient of receiver `k`, from its gradients `a` and `b` after calls that began
        with `_FIRST` and `_SECOND`: "write", "add" or "clear"; "" if the gradient stays as it is; None if no number of
        it is finite. `left`: whether a call without gradients before it leaves one."""
        if a is None or b is None:
            return "clear"
        if bool((a == _FIRST).all()) and bool((b == _SECOND).all()):
            return "add" if left else ""  # zeros are added
        finite = a.isfinite() & b.isfinite()
        if not finite.any():
            return None
        added = _SECOND - _FIRST
        way = "write" if float((b - a)[finite].double().abs().mean()) < added / 2 else "add"
        expected = a if way == "write" else a + added
        if not close(expected[finite], b[finite], added if way == "add" else 0.0):
            self._doubtful.append(k)
        return way


def _zeros(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x) if x.is_floating_point() else x


def _same(a: list[torch.Tensor | None], b: list[torch.Tensor | None]) -> bool:
    if len(a) != len(b):
        return False
    pairs = zip(a, b, strict=True)
    return all(x is y if x is None or y is None else close(x, y, 0.0) for x, y in pairs)
