"""Termination of pools of worker processes that still have work."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterable
from typing import Any

__all__ = ["Ending"]

# A worker may be in the program's own code, which can take any time, so the pool does not wait longer for it.
_GRACE_SECONDS = 2.0


class Ending:
    """Tells the workers of a pool that their results are no longer needed, and ends the pool.

    `Pool.terminate` alone can wait forever: it waits for the lock of the result queue, which is not read any more, and
    a worker holds this lock while its result does not fit into the pipe (64 KiB on Linux). So workers first stop
    sending. The initializer of the pool gets this object, and a worker's function checks `begun` before it reads an
    example and again before it returns the result.

    Args:
        context: the multiprocessing context of the pool, or the module `multiprocessing`.

    Example:
        >>> from multiprocessing.pool import ThreadPool
        >>> from compatgrad.core.worker_pools import Ending
        >>> ending = Ending()
        >>> ending.end(ThreadPool(1), [])
        >>> ending.begun()
        True

    Source: compatgrad's own.
    """

    def __init__(self, context: Any = multiprocessing) -> None:
        # without a lock, because a worker that is killed while it holds one would block the others
        self._flag = context.RawValue("b", 0)
        self._pid = os.getpid()

    def begun(self) -> bool:
        """Whether results are no longer needed."""
        return bool(self._flag.value)

    def end(self, pool: Any, jobs: Iterable[Any]) -> None:
        """Ends the processes of `pool`; `jobs` are the AsyncResults that may still be pending.

        Does nothing in a forked process, which does not own the pool.
        """
        if os.getpid() != self._pid:
            return
        self._flag.value = 1
        deadline = time.monotonic() + _GRACE_SECONDS
        for job in list(jobs):
            job.wait(max(0.0, deadline - time.monotonic()))
        pool.terminate()
