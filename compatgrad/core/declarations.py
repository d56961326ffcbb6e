"""What declarations of functions in frontends have in common: the text that names the arrays, and the ops in bodies."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from compatgrad import _C

__all__ = ["Inputs", "Item", "Ops", "items_of", "made_of"]


class Ops:
    """Every op of the engine as a function of a frontend's Variables: `op.sin(x)`."""

    def __init__(self, frontend: _C.Frontend) -> None:
        for name in _C.op_names():
            setattr(self, name, frontend.bind(name, None, "any", name))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the engine has no op '{name}'")


class Item(NamedTuple):
    """One array in the text of a declaration: "*data", "mask?", "bias? unless no_bias", "mean if output_mean_var"."""

    name: str
    variadic: bool
    optional: bool
    condition: str

    def holds(self, parameters: Mapping[str, Any]) -> bool:
        """Whether the condition is met: "if name", "if name=value", "unless name", several joined by "and"."""
        kind, _, rest = self.condition.partition(" ")
        met = all(_is_met(part, parameters) for part in rest.split(" and "))
        return met if kind == "if" else not met


def _is_met(part: str, parameters: Mapping[str, Any]) -> bool:
    name, equals, value = part.partition("=")
    found = parameters.get(name)
    return str(found) == value if equals else bool(found)


_ITEM = re.compile(r"(\*?)(\w+)(\??)(?: ((?:if|unless) .+))?")


def items_of(text: str) -> tuple[Item, ...]:
    """The arrays that a text names, separated by commas; ValueError for one that cannot be read."""
    items = []
    for part in text.split(","):
        if part := part.strip():
            m = _ITEM.fullmatch(part)
            if m is None:
                raise ValueError(f"declaration: cannot read {part!r} in {text!r}")
            items.append(Item(m[2], bool(m[1]), bool(m[3]), m[4] or ""))
    return tuple(items)


class Inputs:
    """The arrays that a function takes, in order: their names, which may be left out, or any number of them."""

    __slots__ = ("items", "names", "optional", "variadic")

    def __init__(self, text: str) -> None:
        self.items = items_of(text)
        self.names = tuple(item.name for item in self.items)
        self.optional = tuple(item.optional for item in self.items)
        self.variadic = bool(self.items) and self.items[0].variadic


def made_of(source: str, name: str, scope: dict[str, Any], body: Callable[..., Any], file: str = "<string>") -> Any:
    """The function that `source` defines, in the place of `body`: a signature of its own, one Python frame per call."""
    exec(compile(source, file, "exec"), scope)  # noqa: S102
    made = scope[name]
    made.__doc__, made.__module__, made.body = body.__doc__, body.__module__, body
    return made
