"""What graphs know of an operator: its inputs, states and outputs, as its declaration says them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from compatgrad.core.declarations import Inputs, items_of

__all__ = ["Declaration", "declarations", "describe", "parse"]


def parse(value: Any) -> Any:
    """An attribute that a program wrote as a string, as its value: "(2, 2)", "True", "0.5", "-inf"."""
    if not isinstance(value, str):
        return value
    try:
        return float(value) if value in _NOT_FINITE else ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value


_NOT_FINITE = ("inf", "-inf", "nan")  # as symbols write them, which are no literals of Python


class Declaration:
    """The inputs, outputs and states of one operator.

    inputs: as text, see `operator`. outputs: their number, a function that tells it from the parameters, or names:
    "output, mean? if output_mean_var" has a second output that users see if the parameter says so, and which is
    computed in any case, for the gradient ("?"). states: names of the inputs that the operator writes to. body: the
    function whose signature has the defaults of the parameters.
    """

    __slots__ = ("_defaults", "body", "inputs", "outputs", "states")

    def __init__(
        self, inputs: str | Inputs = "data", outputs: int | str | Callable[[Mapping[str, Any]], int] = 1,
        states: str = "", body: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.inputs = Inputs(inputs) if isinstance(inputs, str) else inputs
        self.outputs, self.states, self.body = outputs, states, body
        self._defaults: dict[str, Any] | None = None

    def _parameters(self, given: Mapping[str, str]) -> dict[str, Any]:
        """All parameters, those that were not given too, as values."""
        if self._defaults is None:
            own = inspect.signature(self.body).parameters.values() if self.body else ()
            self._defaults = {p.name: p.default for p in own if p.default is not p.empty}
        return {**self._defaults, **{k: parse(v) for k, v in given.items()}}

    @property
    def open(self) -> bool:
        """Whether a node may have inputs that its parameters do not tell of: those that were given, in their order."""
        return any(i.optional and not i.condition for i in self.inputs.items)

    def needed(self, given: Mapping[str, str]) -> list[str]:
        """Names of the inputs that there are with these parameters; what is not given becomes a variable."""
        if not any(self.inputs.optional):
            return list(self.inputs.names)
        parameters = self._parameters(given)
        items = self.inputs.items
        return [i.name for i in items if not i.optional or (i.condition != "" and i.holds(parameters))]

    def written(self) -> tuple[int, ...]:
        """Places of the inputs that the operator writes to."""
        return tuple(self.inputs.names.index(item.name) for item in items_of(self.states))

    def counts(self, given: Mapping[str, str]) -> tuple[int, int]:
        """How many outputs users see, and how many there are."""
        if isinstance(self.outputs, int):
            return self.outputs, self.outputs
        parameters = self._parameters(given)
        if callable(self.outputs):
            n = int(self.outputs(parameters))
            return n, n
        items = items_of(self.outputs)
        seen = [i.holds(parameters) if i.condition else not i.optional for i in items]
        return sum(seen), sum(s or i.optional for s, i in zip(seen, items, strict=True))

    def suffixes(self, n: int) -> list[str]:
        """What the names of the first `n` outputs have after that of their node."""
        if isinstance(self.outputs, str):
            return [item.name for item in items_of(self.outputs)[:n]]
        return ["output"] if n == 1 else [f"output{i}" for i in range(n)]


declarations: dict[Callable[..., Any], Declaration] = {}  # by the functions


def describe(function: Callable[..., Any], declaration: Declaration) -> Callable[..., Any]:
    """Enters what graphs know of a function."""
    declarations[function] = declaration
    return function
