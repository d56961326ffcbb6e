"""Writes the text format of protocol buffer messages, which `prototext` reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def lines(message: Any, indent: str) -> Iterator[str]:
    for field, value in message.ListFields():
        if field.many == "%":
            for key in sorted(value):
                yield f"{indent}{field.name} {{"
                yield f"{indent}  key: {_quoted(key)}"
                yield f"{indent}  value {{"
                yield from lines(value[key], indent + "    ")
                yield f"{indent}  }}"
                yield f"{indent}}}"
            continue
        for item in value if field.many else [value]:
            if field.scalar:
                yield f"{indent}{field.name}: {_shown(field, item)}"
            else:
                yield f"{indent}{field.name} {{"
                yield from lines(item, indent + "  ")
                yield f"{indent}}}"


def _shown(field: Any, value: Any) -> str:
    if field.kind == "string":
        return _quoted(value)
    if field.kind == "bool":
        return "true" if value else "false"
    if field.kind == "float":
        return str(_shortest(value))
    return str(value)


def _shortest(value: float) -> float:
    """The number with the fewest digits that gives the same float32."""
    for digits in range(6, 10):
        number = float(f"{value:.{digits}g}")
        if float(np.float32(number)) == value:
            return number
    return value


def _quoted(text: str) -> str:
    out = []
    for byte in text.encode():
        char = chr(byte)
        if char in "\\\"'":
            out.append("\\" + char)
        elif char in "\n\r\t":
            out.append({"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char])
        else:
            out.append(char if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'
