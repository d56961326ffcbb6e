"""Bulk execution: operators run at once here, so the sizes are kept and change nothing."""

from __future__ import annotations

from typing import Any

__all__ = ["bulk", "set_bulk_size"]

_bulk_size = 15


def set_bulk_size(size: int) -> int:
    """Sets how many operators run in one bulk (without effect) and returns the previous number."""
    global _bulk_size
    previous, _bulk_size = _bulk_size, int(size)
    return previous


class _BulkScope:
    def __init__(self, size: int) -> None:
        self._size = size
        self._previous: list[int] = []

    def __enter__(self) -> _BulkScope:
        self._previous.append(set_bulk_size(self._size))
        return self

    def __exit__(self, *exc: Any) -> None:
        set_bulk_size(self._previous.pop())


def bulk(size: int) -> _BulkScope:
    """A scope with another bulk size (without effect)."""
    return _BulkScope(size)
