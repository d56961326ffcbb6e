"""Markdown made from docstrings, signatures and names."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from tests.docs.public_names import SECTION

_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.S)
_SPECIAL = re.compile(r"([\\*_<>\[\]{}#|~$^&])")
_ITEM = re.compile(r"^(\*{0,2}[\w., *|\[\]()-]+?(?: \([^)]*\))?):(?: (.*))?$")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def escape(text: str) -> str:
    """The text as Markdown in which only code spans keep their meaning."""
    parts, at = [], 0
    for span in _SPAN.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[at : span.start()]), span[0]]
        at = span.end()
    parts.append(_SPECIAL.sub(r"\\\1", text[at:]).replace("`", "\\`"))
    return re.sub(r"^(\s*)([+=]|-(?=\S))", r"\1\\\2", "".join(parts), flags=re.M)


def fence(kind: str, body: Iterable[str], ticks: int = 3) -> str:
    """A code block, or a directive, with a fence of so many ticks."""
    return "\n".join(["`" * ticks + kind, *body, "`" * ticks])


def prose(text: str) -> str:
    """Paragraphs of a docstring: examples and indented lines become code blocks, the rest is escaped."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(text).strip("\n")):
        lines = block.splitlines()
        start = next((i for i, line in enumerate(lines) if line.lstrip().startswith(">>>")), None)
        if start is not None:
            if start:
                found.append(escape("\n".join(lines[:start])))
            code = textwrap.dedent("\n".join(lines[start:]))
            found.append(fence("pycon", code.splitlines()))
        elif lines and all(line.startswith("    ") for line in lines):
            found.append(_program(textwrap.dedent(block)))
        elif lines:
            found.append(escape(re.sub(r"::\Z", ":", "\n".join(lines))))
    return "\n\n".join(found)


def _program(code: str) -> str:
    """A code block: of Python, or of a command line or a form."""
    try:
        ast.parse(code)
        return fence("python", code.splitlines())
    except SyntaxError:
        return fence("text", code.splitlines())


def _items(text: str) -> str:
    """The entries `name: text` of a section as a list."""
    rows: list[list[str]] = []
    for line in textwrap.dedent(text.strip("\n")).splitlines():
        item = _ITEM.match(line)
        if item and not line.startswith(" "):
            rows.append([f"**{escape(item[1])}**: {item[2] or ''}"])
        elif rows:
            rows[-1].append(line.strip())
        else:
            rows.append([line.strip()])
    return "\n".join("- " + _joined(row) for row in rows)


def _joined(row: Sequence[str]) -> str:
    head, *rest = row
    bold = re.match(r"\*\*.*?(?<!\\)\*\*: ", head)
    start = bold[0] if bold else ""
    return start + escape(" ".join([head[len(start) :], *filter(None, rest)]))


_TITLES = {"Args": "Arguments"}


def docstring(text: str) -> str:
    """A docstring with sections as Markdown."""
    parts = SECTION.split(inspect.cleandoc(text))
    found = [prose(parts[0])] if parts[0].strip() else []
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        body = body.strip("\n")
        shown = f"**{_TITLES.get(title, title)}**"
        if title in ("Args", "Raises", "Attributes"):
            found.append(f"{shown}\n\n{_items(body)}")
        elif title == "Example" and ">>>" not in body and "::" not in body:
            found.append(f"{shown}\n\n{_program(textwrap.dedent(body))}")
        elif title == "Source":
            found.append(f"{shown}: {escape(' '.join(body.split()))}")
        else:
            found.append(f"{shown}\n\n{prose(body)}")
    return "\n\n".join(found)


def signature(value: Any) -> str:
    """The parameters of a function, or of a class's constructor, as text; the empty text where Python shows none."""
    try:
        seen = inspect.signature(value)
    except (ValueError, TypeError):
        return "()" if not inspect.isclass(value) else ""
    parameters = list(seen.parameters.values())
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    words: list[str] = []
    star = False
    for i, p in enumerate(parameters):
        if p.kind is p.KEYWORD_ONLY and not star:
            words.append("*")
            star = True
        text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        star = star or p.kind is p.VAR_POSITIONAL
        if p.annotation is not p.empty:
            text += f": {annotation(p.annotation)}"
        if p.default is not p.empty:
            text += f"{' = ' if p.annotation is not p.empty else '='}{default(p.default)}"
        words.append(text)
        following = parameters[i + 1].kind if i + 1 < len(parameters) else None
        if p.kind is p.POSITIONAL_ONLY and following is not p.POSITIONAL_ONLY:
            words.append("/")
    result = seen.return_annotation
    arrow = "" if result is seen.empty or inspect.isclass(value) else f" -> {annotation(result)}"
    return " ".join(f"({', '.join(words)}){arrow}".split())


def annotation(value: Any) -> str:
    """A type as it is written in the source."""
    return value if isinstance(value, str) else inspect.formatannotation(value)


def default(value: Any) -> str:
    """The default of a parameter, as a Python expression."""
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = " ".join(repr(value).split())
    return "..." if _ADDRESS.search(text) or text.startswith("<") else text
