"""Docstrings of messages."""

from __future__ import annotations

from typing import Any

__all__ = ["Documented"]

_SAMPLES: dict[str, Any] = {"string": "a", "bool": True, "float": 0.5, "double": 0.5}


class Documented:
    """The docstring of a message class, generated from its fields when it is read."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __get__(self, instance: Any, cls: Any) -> str:
        name, fields = cls.__name__, cls._fields.values()
        lines = ", ".join(f"`{f.name}` ({_said(f)})" for f in fields) or "none"
        shown = f">>> {name}().SerializeToString()\n    b''"
        first = next((f for f in fields if f.kind not in f.classes and f.many != "%"), None)
        if first is not None:
            value = _SAMPLES.get(first.kind, 2)
            value = [value] if first.many else value
            read = f"{name}({first.name}={value!r}).{first.name}"
            shown = f">>> {f'list({read})' if first.many else read}\n    {value!r}"
        return (
            f"A message of type {name}.\n\nIts fields are: {lines}.\n\n"
            "Args:\n    **values: fields by name; those that are left out have their defaults.\n\n"
            "Raises:\n    AttributeError: there is no field of a name.\n"
            "    TypeError: a value is not of its field's type.\n\n"
            f"Example:\n    >>> from {cls.__module__} import {name}\n    {shown}\n\n"
            f"Source: {self.source.format(name=name)}"
        )


def _said(field: Any) -> str:
    before = {"*": "repeated ", "%": "map of str to "}.get(field.many, "")
    return f"{before}{field.kind}"
