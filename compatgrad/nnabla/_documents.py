"""Composed docstrings: a function's own docstring is completed by sections that it shares with related functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

__all__ = ["NO_INPUT", "OUTPUTS", "documented", "merged", "section"]

_TITLES = ("Args", "Attributes", "Returns", "Yields", "Raises", "Note", "Example", "Source")
_SECTION = re.compile(rf"^({'|'.join(_TITLES)}):", re.M)
_ENTRY = re.compile(r"^    (?=\S)", re.M)

_UNINDENTED = re.compile(r"\n(?=\S)")  # in docstrings of Python 3.13, which removes their indentation

F = TypeVar("F", bound=Callable[..., Any])  # a function or a class

# The section that all functions of `nnabla.functions` share, and the one of those with inputs.
OUTPUTS = """
Args:
    n_outputs: the number of results; it has an effect only where no other argument determines that number.
    outputs: arrays into which the results are written, with the results' numbers of elements; None makes new ones.
    **more: `n_outputs` and `outputs`, which every function takes.
"""
NO_INPUT = """
Raises:
    TypeError: an input is neither a Variable nor an NdArray.
"""


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """The text before the sections of a docstring, and a dict of the sections by title."""
    head, *rest = _SECTION.split(text)
    return head.rstrip(), dict(zip(rest[::2], rest[1::2], strict=True))


def section(text: str | None, title: str) -> str:
    """One section of a docstring, with its title."""
    return f"{title}:{_parts(inspect.cleandoc(text or ''))[1].get(title, '')}"


def _entries(section: str) -> dict[str, str]:
    """A dict of the entries of a section, such as "x, y: arrays", by the text before the colon."""
    return {entry.partition(":")[0]: entry.rstrip() for entry in _ENTRY.split(section)[1:]}


def _arguments(section: str) -> dict[str, str]:
    """A dict of the entries of a section of arguments by argument name."""
    found = {}
    for key, entry in _entries(section).items():
        for name in key.replace("*", "").split(", "):
            found[name] = entry
    return found


@lru_cache(None)
def _shared(texts: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Arguments, errors and other sections of several texts; where two texts have the same entry, the first one
    counts."""
    sections = [_parts(text)[1] for text in reversed(texts)]
    arguments, errors, others = {}, {}, {}
    for found in sections:
        arguments |= _arguments(found.pop("Args", ""))
        errors |= _entries(found.pop("Raises", ""))
        others |= found
    return arguments, errors, others


def merged(
    text: str,
    shared: tuple[str, ...],
    names: Sequence[str] = (),
    source: str = "",
    more: Mapping[str, str] | None = None,
) -> str:
    """The docstring `text` of a module-level function, completed by the sections in `shared` and by its source. The
    result describes the arguments `names` in this order. Entries for arguments and errors, and other sections, are
    taken from `shared` where `text` does not have them. `more` are further sections.
    """
    text = text.strip()
    head, own = _parts(text if _UNINDENTED.search(text) else text.replace("\n    ", "\n"))
    arguments, errors, others = _shared(shared)
    described = arguments | _arguments(own.get("Args", ""))
    lines = dict.fromkeys(described[name] for name in names if name in described)
    if lines:
        own["Args"] = "\n    " + "\n    ".join(lines)
    mine = own.get("Raises", "").rstrip()
    raised = [mine, *(f"\n    {entry}" for name, entry in errors.items() if f"\n    {name}:" not in mine)]
    if any(raised):
        own["Raises"] = "".join(raised)
    own = others | own | (more or {})
    if source:
        own["Source"] = f" `{source}` of nnabla 1.39.0."
    return "\n\n".join((head, *(f"{title}:{own[title].rstrip()}" for title in _TITLES if title in own)))


def documented(
    *shared: str,
    source: str = "nnabla.functions",
    all_have: tuple[str, ...] = (OUTPUTS, NO_INPUT),
    more: Mapping[str, str] | None = None,
) -> Callable[[F], F]:
    """Decorator that completes the docstring of a function or class by the sections `shared`, `all_have` and `more`,
    and by its source."""

    def complete(f: F) -> F:
        if f.__doc__:  # python -OO removes docstrings
            code = f.__init__.__code__ if isinstance(f, type) else f.__code__
            n, m = code.co_argcount, code.co_kwonlyargcount
            names = (*code.co_varnames[:n], *code.co_varnames[n + m : n + m + 2], *code.co_varnames[n : n + m])
            f.__doc__ = merged(f.__doc__, shared + all_have, names, f"{source}.{f.__name__}", more)
        return f

    return complete
