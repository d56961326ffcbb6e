"""Docstrings of function classes, composed from the docstrings of the functions."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

_SECTION = re.compile(r"^(Args|Returns|Raises|Example|Source):.*\n?", re.M)
_ARGUMENT = re.compile(r"^    (?=[\w*])", re.M)


def sections_of(text: str) -> tuple[str, dict[str, str]]:
    """The text before the sections of a docstring, and the sections by title.

    Args:
        text: the docstring, without indentation.

    Returns:
        The text, and a dict of the sections' texts.

    Example:
        >>> from compatgrad.chainer._documented import sections_of
        >>> sections_of("Adds.\\n\\nArgs:\\n    x: a number.")
        ('Adds.\\n\\n', {'Args': '    x: a number.'})

    Source: compatgrad's own.
    """
    head, *parts = _SECTION.split(text)
    return head, dict(zip(parts[::2], parts[1::2], strict=True))


def _sharing(shared: str) -> Callable[[_F], _F]:
    """Decorator that completes the docstring of a function by sections that related functions share: entries of
    arguments that the function has and does not describe, further errors, and the result if it is not described.
    """
    _, given = sections_of(inspect.cleandoc(shared))

    def complete(f: _F) -> _F:
        if f.__doc__:  # python -OO removes docstrings
            head, own = sections_of(inspect.cleandoc(f.__doc__))
            entries = _entries(given.get("Args", "")) | _entries(own.get("Args", ""))
            own["Args"] = "".join(entries.get(n, "") for n in f.__code__.co_varnames[: f.__code__.co_argcount])
            own["Raises"] = own.get("Raises", "").rstrip("\n") + "\n" + given.get("Raises", "")
            parts = [f"{title}:\n{(own.get(title) or given[title]).strip(chr(10))}" for title in _TITLES]
            source = f"Source: `chainer.functions.{f.__name__}` of Chainer 7.8.1."
            f.__doc__ = "\n\n".join((head.rstrip(), *parts, source))
        return f

    return complete


_TITLES = ("Args", "Returns", "Raises", "Example")


def _entries(section: str) -> dict[str, str]:
    """The entries of arguments in a section, by name."""
    return {e.partition(":")[0]: f"    {e.rstrip()}\n" for e in _ARGUMENT.split(section) if e.strip()}


class _ClassDocumentation:
    """A descriptor that composes the docstring of a class, when it is read, from that of the function in
    `documented`."""

    def __get__(self, instance: Any, cls: Any) -> str | None:
        function = getattr(sys.modules[cls.__module__], cls.documented, None)
        text = inspect.getdoc(function)
        if text is None:
            return None
        head, sections = sections_of(text)
        name, path = cls.documented, cls.__module__.partition("compatgrad.")[2]
        blocks = [f"The node of `chainer.functions.{name}` in the graph, its result's `creator`: {head.strip()}"]
        if described := _arguments(cls, sections.get("Args", "")):
            blocks.append("Args:\n" + described)
        for section in ("Raises", "Example"):
            if section in sections:
                blocks.append(f"{section}:\n{sections[section].rstrip()}")
        blocks.append(f"Source: `{path}.{cls.__name__}` of Chainer 7.8.1.")
        return "\n\n".join(blocks)


def _arguments(cls: Any, described: str) -> str:
    """The entries of the function's `Args` section which the constructor of `cls` takes too."""
    try:
        names = inspect.signature(cls).parameters
    except ValueError:
        return ""  # the class inherits the constructor of the compiled base, which takes no arguments
    named = [(a, {n.strip(" *") for n in a.partition(":")[0].split(",")}) for a in _ARGUMENT.split(described)]
    kept = [a for a, its_names in named if not its_names.isdisjoint(names)]
    if "params" in names and names["params"].kind is inspect.Parameter.VAR_KEYWORD:
        kept.append("**params: none; constructors of subclasses hand over the op's parameters.")
    return "\n".join(f"    {a.rstrip()}" for a in kept)


documented_class = _ClassDocumentation()


def take_docstring(cls: Any) -> None:
    """Gives a class of function nodes a docstring: where the class has `documented = "group_normalization"`, the
    docstring is composed, when it is read, from that of the function `group_normalization` of the same module. A class
    that has an `op` and neither `documented` nor a docstring is documented by the function of the op's name.

    Args:
        cls: the class; others stay as they are.

    Raises:
        AttributeError: `cls` is no class.

    Example:
        >>> from compatgrad.chainer.functions.normalization.group_normalization import GroupNormalization
        >>> GroupNormalization.__doc__.splitlines()[0][:50]
        'The node of `chainer.functions.group_normalization'

    Source: none in Chainer, whose classes have docstrings of their own.
    """
    own = vars(cls)
    if own.get("op") is not None and own.get("__doc__") is None and "documented" not in own:
        cls.documented = cls.op
    if "documented" in own:
        cls.__doc__ = documented_class
