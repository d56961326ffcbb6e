"""Composes docstrings from what is written at a function, its signature, and the shared texts in `_words`.

What is written at a function is a summary, an example, and those lines of "Args:", "Returns:" and "Raises:" that differ
from the shared texts.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ._words import WORDS

__all__ = ["composed", "parameters_of", "sharing", "type_of"]

_T = TypeVar("_T", bound=Callable[..., Any])

# functions that MXNet 1.9.1 has under another name, or that only MXNet 2.0 has
_ELSEWHERE = {
    "mxnet.nd.hypot": "`mxnet.sym.hypot` of MXNet 1.9.1",
    "mxnet.nd.linalg_syevd": "`mxnet.nd.linalg.syevd` of MXNet 1.9.1",
    **{
        f"mxnet.nd.{name}": f"`mxnet.nd.{name}` of MXNet 2.0"
        for name in ("digamma", "log_sigmoid", "masked_log_softmax", "masked_softmax", "mish")
    },
    "mxnet.np.random.seed": "`mxnet.random.seed` of MXNet 1.9.1",
    **{
        f"mxnet.{name}": f"`mxnet.{name}` of MXNet 2.0"
        for name in (
            "np.floor_divide",
            "np.logical_and",
            "np.logical_or",
            "np.logical_xor",
            "np.random.laplace",
            "np.random.permutation",
            "np.triu",
            "npx.broadcast_like",
            "npx.index_add",
            "npx.index_update",
            "npx.masked_log_softmax",
            "npx.masked_softmax",
            "npx.random.categorical",
            "npx.savez",
        )  # fmt: skip
    },
}
_TITLES = ("Args", "Returns", "Raises", "Example")
_OWN = re.compile(r"\n *(Args|Returns|Raises|Example):\n")
_NAME = re.compile(r"\*{0,2}(\w+)")
_UNINDENTED = re.compile(r"\n(?=\S)")
_OF_DEFAULT = {bool: "bool", int: "int", float: "float", str: "str", tuple: "Sequence[Any]"}


def type_of(name: str, default: Any) -> str:
    """The type of an argument: the one in `_words`, else that of its default."""
    if name in WORDS and WORDS[name][0]:
        found = WORDS[name][0]
        if default is None or default == ():
            more = "None" if default is None else "Sequence[int]"
            return found if found.endswith(("None", "Any")) or more in found else f"{found} | {more}"
        return found
    return _OF_DEFAULT.get(default.__class__, "Any")


def parameters_of(function: Any) -> list[str]:
    """The names of a function's parameters in order, with their stars. `inspect.signature` takes 20 times as long,
    which importing would show.
    """
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    for flag, stars, at in ((inspect.CO_VARARGS, "*", code.co_argcount), (inspect.CO_VARKEYWORDS, "**", None)):
        if code.co_flags & flag:
            names.insert(len(names) if at is None else at, stars + code.co_varnames[count])
            count += 1
    return names


def _indented(text: str) -> str:
    """A docstring with the indentation that it has in the source, which Python 3.13 removes from the lines after the
    first.
    """
    return re.sub(r"\n(?=[^\n])", "\n    ", text) if _UNINDENTED.search(text) else text


def composed(
    text: str | None, parameters: Iterable[str], source: str, returns: str, raises: str, arrays: Mapping[str, str],
    words: Mapping[str, tuple[str, str]] = WORDS,
) -> str:  # fmt: skip
    """The whole docstring. `text`: what is written at the function; `parameters`: names in order, with their stars;
    `source`: the original's name of the function; `returns`, `raises`: these sections where `text` has none; `arrays`:
    types of the parameters that are arrays; `words`: types and meanings of parameters that `text` does not describe.
    """
    parts = _OWN.split(_indented(text or ""))
    own = dict(zip(parts[1::2], parts[2::2], strict=True))
    told: dict[str, str] = {}
    last = ""
    for line in own.get("Args", "").splitlines():
        if (stripped := line.strip()) and (len(line) - len(stripped) == 8 and ": " in stripped):
            last, rest = _NAME.match(stripped)[1], stripped  # type: ignore[index]
            if last in arrays and stripped.startswith(f"{last}:"):
                rest = f"{last} ({arrays[last]}){stripped[len(last) :]}"
            told[last] = f"        {rest}"
        elif stripped:
            told[last] += f"\n            {stripped}"
    lines = []
    for parameter in parameters:
        name = parameter.lstrip("*")
        if name in told:
            lines.append(told[name])
        elif name in words:
            kind = f" ({arrays[name]})" if name in arrays else ""
            lines.append(f"        {parameter}{kind}: {words[name][1]}")
    sections = [("Args", "\n".join(lines)), ("Returns", own.get("Returns") or f"        {returns}")]
    sections += [("Raises", own.get("Raises") or f"        {raises}"), ("Example", own.get("Example", ""))]
    body = "\n\n".join(f"    {title}:\n{lines.rstrip()}" for title, lines in sections if lines.strip())
    return f"{parts[0].rstrip()}\n\n{body}\n\n    Source: {_ELSEWHERE.get(source, f'`{source}` of MXNet 1.9.1')}.\n    "


_BLOCK = re.compile(r"\n\n    (?=(?:Args|Returns|Raises|Example|Source):)")


def _blocks(text: str) -> dict[str, str]:
    """The paragraphs before the first section of a docstring, under "", and its sections by their titles."""
    head, *sections = _BLOCK.split("\n\n    " + text.strip())
    return {"": head.strip(), **{section.partition(":")[0]: section.rstrip() for section in sections}}


def sharing(text: str, **values: Any) -> Callable[[_T], _T]:
    """A decorator for the classes or functions of a family: adds to their docstrings the paragraphs and arguments of
    `text`, and the sections that they lack. In `text`, {name} is the name of the class or function, {...} one of
    `values`.
    """

    def complete(thing: _T) -> _T:
        if thing.__doc__:  # python -OO leaves none
            own, common = _blocks(_indented(thing.__doc__)), _blocks(text.format(name=thing.__name__, **values))
            found = {title: own.get(title) or common.get(title, "") for title in ("", *_TITLES, "Source")}
            found[""] = "\n\n    ".join(filter(None, (own[""], common[""])))
            if own.get("Args") and common.get("Args"):
                found["Args"] = own["Args"] + common["Args"].removeprefix("Args:")
            thing.__doc__ = "\n\n    ".join(filter(None, found.values())) + "\n    "
        return thing

    return complete
