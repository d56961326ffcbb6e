"""Pools of worker processes that end while there is work left."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterable
from typing import Any

__all__ = ["Ending"]

# A worker that is given up may be inside the program's own code, which can take any time.
_GRACE_SECONDS = 2.0


class Ending:
    """Tells the workers of a pool that their results are not wanted any more, and ends the pool.

    `Pool.terminate` alone can wait for ever: it takes the lock of the queue of results while nothing reads that queue
    any more, and a worker holds this lock for as long as its result does not fit into the pipe (64 KiB on Linux). So
    workers first stop sending. The initializer of the pool gets this object, and a worker's function asks `begun`
    before it reads an example and once more before it returns the result.

    Args:
        context: the multiprocessing context of the pool, or the module `multiprocessing`.
    """

    def __init__(self, context: Any = multiprocessing) -> None:
        # without a lock: a worker that is killed while it holds one would stop the others
        self._flag = context.RawValue("b", 0)
        self._pid = os.getpid()

    def begun(self) -> bool:
        """Whether results are not wanted any more."""
        return bool(self._flag.value)

    def end(self, pool: Any, jobs: Iterable[Any]) -> None:
        """Ends the processes of `pool`; `jobs` are the AsyncResults that may not have come yet.

        In a process that a fork made, which does not own the pool, nothing happens.
        """
        if os.getpid() != self._pid:
            return
        self._flag.value = 1
        deadline = time.monotonic() + _GRACE_SECONDS
        for job in list(jobs):
            job.wait(max(0.0, deadline - time.monotonic()))
        pool.terminate()
