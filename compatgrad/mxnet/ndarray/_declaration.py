"""Declarations of operators: the inputs, states and outputs, which symbols need."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from compatgrad.core.declarations import Inputs, items_of

__all__ = ["Declaration", "declarations", "describe", "parse"]


def parse(value: Any) -> Any:
    """The value of an attribute that is written as a string: "(2, 2)", "True", "0.5", "-inf"."""
    if not isinstance(value, str):
        return value
    if value.isidentifier() and value not in _NAMED:  # "NCHW" in each call of a layer; literal_eval takes 25 us
        return value
    return _literal.__wrapped__(value) if value[:1] in _CHANGEABLE else _literal(value)


@functools.lru_cache(4096)
def _literal(value: str) -> Any:
    try:
        return float(value) if value in _NOT_FINITE else ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value


_CHANGEABLE = ("[", "{")  # at the beginning of lists and dicts, of which each caller needs its own
_NOT_FINITE = ("inf", "-inf", "nan")  # symbols write these, which are not literals of Python
_NAMED = ("True", "False", "None", "inf", "nan")  # identifiers that stand for another value


class Declaration:
    """The inputs, outputs and states of one operator.

    inputs: text, as for `operator`. outputs: their number, a function from the parameters to their number, or names.
    "output, mean? if output_mean_var" declares a second output that is always computed, for the gradient ("?"), and
    that users see if the parameter is set. states: names of the inputs that the operator writes to. body: the function
    whose signature has the parameters' defaults.
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
        """The values of all parameters, with defaults for those that are not given."""
        if self._defaults is None:
            own = inspect.signature(self.body).parameters.values() if self.body else ()
            self._defaults = {p.name: p.default for p in own if p.default is not p.empty}
        return {**self._defaults, **{k: parse(v) for k, v in given.items()}}

    @property
    def open(self) -> bool:
        """Whether inputs are optional by themselves, so that a node has those that were given, in their order."""
        return any(i.optional and not i.condition for i in self.inputs.items)

    def needed(self, given: Mapping[str, str]) -> list[str]:
        """Names of the inputs with these parameters; a symbol creates variables for those that are not given."""
        if not any(self.inputs.optional):
            return list(self.inputs.names)
        parameters = self._parameters(given)
        items = self.inputs.items
        return [i.name for i in items if not i.optional or (i.condition != "" and i.holds(parameters))]

    def written(self) -> tuple[int, ...]:
        """Places of the inputs that the operator writes to."""
        return tuple(self.inputs.names.index(item.name) for item in items_of(self.states))

    def counts(self, given: Mapping[str, str]) -> tuple[int, int]:
        """The number of outputs that users see, and the number that is computed."""
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
        """The suffixes that the first `n` outputs add to the name of their node."""
        if isinstance(self.outputs, str):
            return [item.name for item in items_of(self.outputs)[:n]]
        return ["output"] if n == 1 else [f"output{i}" for i in range(n)]


declarations: dict[Callable[..., Any], Declaration] = {}  # by function


def describe(function: Callable[..., Any], declaration: Declaration) -> Callable[..., Any]:
    """Registers the declaration of a function, and returns the function."""
    declarations[function] = declaration
    return function
