"""Pools of worker processes: their memory, and their end while they still have work."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import time
from collections.abc import Iterable
from typing import Any

__all__ = ["Ending", "keep_memory"]

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


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT_BYTES = 1 << 27  # at the end of the heap
_LARGEST_KEPT = 1 << 25  # the most that glibc accepts


def keep_memory() -> None:
    """Lets this process keep memory that it frees, if its C library is glibc.

    A worker allocates arrays of the same sizes for each example. By default glibc returns arrays of some 100 KB to the
    system at once, and the pages of the next one take longer than what is written to them: without this, processes that
    read images of 256 x 256 pixels take 1.6 times as long. Settings of the environment (MALLOC_TRIM_THRESHOLD_ and
    MALLOC_MMAP_THRESHOLD_) stay in force.

    Example:
        >>> from multiprocessing import Pool
        >>> from compatgrad.core.worker_pools import keep_memory
        >>> with Pool(1, keep_memory) as workers:
        ...     workers.map(abs, [-1])
        [1]

    Source: compatgrad's own.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
