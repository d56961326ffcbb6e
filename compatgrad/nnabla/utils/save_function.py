"""Converts functions into Function messages."""

from __future__ import annotations

from typing import Any

from ..core._networks import ProtoFunction

__all__: list[str] = []


def _create_function_nntxt(dest: Any, name: str, func: Any) -> None:
    """Writes a function of a network definition to the Function message `dest`, with the name `name`."""
    entry = ProtoFunction(None, func.type, dict(func.args or {}), name)
    entry.inputs, entry.outputs = list(func.inputs), list(func.outputs)
    dest.MergeFrom(entry.proto)
