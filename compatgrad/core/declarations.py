"""Helpers for declarations of functions in frontends: the text that lists the arrays, and ops for function bodies."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from compatgrad import _C

__all__ = ["Inputs", "Item", "Ops", "items_of", "made_of"]


class Ops:
    """Every op of the engine as a function of a frontend's Variables: `op.sin(x)`. An unknown name is an
    AttributeError.

    Args:
        frontend: the frontend's `_C.Frontend`.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import _C
        >>> from compatgrad.core.declarations import Ops
        >>> Ops(_C.native_frontend).exp(compatgrad.Variable(torch.zeros(2))).tensor
        tensor([1., 1.])

    Source: `compatgrad/core/declarations.py`.
    """

    def __init__(self, frontend: _C.Frontend) -> None:
        for name in _C.op_names():
            setattr(self, name, frontend.bind(name, None, "any", name))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the engine has no op '{name}'")


class Item(NamedTuple):
    """One array in the text of a declaration: "*data", "mask?", "bias? unless no_bias", "mean if output_mean_var".

    Args:
        name: its name.
        variadic: whether it stands for any number of arrays.
        optional: whether it may be left out.
        condition: when it exists: "if name", "if name=value", "unless name", several joined by "and"; "" for always.

    Example:
        >>> from compatgrad.core.declarations import items_of
        >>> (item,) = items_of("bias? unless no_bias")
        >>> item.optional, item.holds({"no_bias": True})
        (True, False)

    Source: `compatgrad/core/declarations.py`.
    """

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


@functools.cache
def items_of(text: str) -> tuple[Item, ...]:
    """Parses a text that lists arrays.

    Args:
        text: the text, arrays separated by commas.

    Returns:
        The arrays.

    Raises:
        ValueError: an array cannot be read.

    Example:
        >>> from compatgrad.core.declarations import items_of
        >>> [item.name for item in items_of("data, weight, bias? unless no_bias")]
        ['data', 'weight', 'bias']

    Source: `compatgrad/core/declarations.py`.
    """
    items = []
    for part in text.split(","):
        if part := part.strip():
            m = _ITEM.fullmatch(part)
            if m is None:
                raise ValueError(f"declaration: cannot read {part!r} in {text!r}")
            items.append(Item(m[2], bool(m[1]), bool(m[3]), m[4] or ""))
    return tuple(items)


class Inputs:
    """The arrays that a function takes, in order: attributes `items`, `names`, `optional` (whether each may be left
    out) and `variadic` (whether it takes any number).

    Args:
        text: the text, as of `items_of`.

    Raises:
        ValueError: an array cannot be read.

    Example:
        >>> from compatgrad.core.declarations import Inputs
        >>> inputs = Inputs("data, mask?")
        >>> inputs.names, inputs.optional, inputs.variadic
        (('data', 'mask'), (False, True), False)

    Source: `compatgrad/core/declarations.py`.
    """

    __slots__ = ("items", "names", "optional", "variadic")

    def __init__(self, text: str) -> None:
        self.items = items_of(text)
        self.names = tuple(item.name for item in self.items)
        self.optional = tuple(item.optional for item in self.items)
        self.variadic = bool(self.items) and self.items[0].variadic


def made_of(source: str, name: str, scope: dict[str, Any], body: Callable[..., Any], file: str = "<string>") -> Any:
    """Makes a function from source code that replaces another one: it has its own signature, and a call takes one
    Python frame.

    Args:
        source: Python source that defines the function.
        name: name of the function.
        scope: the global names of the source.
        body: the function that it replaces, whose docstring and module it gets, and which becomes its attribute `body`.
        file: name of the source in tracebacks.

    Returns:
        The function.

    Raises:
        KeyError: the source does not define the name.
        SyntaxError: the source is not valid Python.

    Example:
        >>> from compatgrad.core.declarations import made_of
        >>> made_of("def double(x):\\n    return 2 * x", "double", {}, lambda x: x)(3)
        6

    Source: `compatgrad/core/declarations.py`.
    """
    exec(compile(source, file, "exec"), scope)
    made = scope[name]
    made.__doc__, made.__module__, made.body = body.__doc__, body.__module__, body
    return made
