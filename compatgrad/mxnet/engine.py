"""Bulk execution: sizes of bulks are kept, but have no effect, as each operator runs when it is called."""

from __future__ import annotations

from typing import Any

__all__ = ["bulk", "set_bulk_size"]

_bulk_size = 15


def set_bulk_size(size: int) -> int:
    """Sets how many operators run in one bulk. It has no effect: each operator runs when it is called.

    Args:
        size: the number.

    Returns:
        The previous number, at first 15.

    Raises:
        ValueError: `size` is no number.

    Example:
        >>> old = mx.engine.set_bulk_size(30)
        >>> mx.engine.set_bulk_size(old)
        30

    Source: `mxnet.engine.set_bulk_size` of MXNet 1.9.1.
    """
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
    """A scope with another size of bulks. It has no effect: each operator runs when it is called.

    Args:
        size: the number.

    Returns:
        A context manager.

    Raises:
        ValueError: `size` is no number, when the scope is entered.

    Example:
        >>> with mx.engine.bulk(30):
        ...     x = nd.ones(2) + 1

    Source: `mxnet.engine.bulk` of MXNet 1.9.1.
    """
    return _BulkScope(size)
