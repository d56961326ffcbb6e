"""The error of processes that do not meet."""

from __future__ import annotations

__all__ = ["DistributedError"]


class DistributedError(RuntimeError):
    """Processes that should have met did not: one is gone, hangs, or called something else. The message names the call,
    the processes that are missing and the line of the program.

    Example:
        >>> from compatgrad.core import distributed
        >>> issubclass(distributed.DistributedError, RuntimeError)
        True

    Source: `compatgrad/core/distributed/errors.py`.
    """
