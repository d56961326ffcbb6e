"""AheadIter: batches that threads prepare while the program uses earlier ones."""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from ..base import MXNetError
from ._numbered import MXDataIter


class _Coming(NamedTuple):
    """A batch that is being prepared. `before`: the state of its iterator before the batch."""

    before: Any
    samples: list[int]
    pad: int
    jobs: list[Future[None]]
    result: Callable[[], tuple[Any, Any]]


def _end(threads: ThreadPoolExecutor, process: int) -> None:
    if os.getpid() == process:  # a forked process has no threads that it could end
        threads.shutdown(wait=False, cancel_futures=True)


class AheadIter(MXDataIter):
    """Base class of iterators whose samples take long to prepare.

    A subclass calls `_begin_threads` after `_begin`, and defines `_start`. Samples, random numbers and errors come as
    if each batch was prepared when the program asks for it.
    """

    def _begin_threads(self, threads: int, ahead: int) -> None:
        """`ahead`: how many batches are prepared beyond the one that the program has."""
        self._thread_count, self._most_ahead = max(1, min(threads, os.cpu_count() or 1)), max(1, ahead)
        self._coming: deque[_Coming] = deque()
        self._make_threads()

    def _make_threads(self) -> None:
        self._process = os.getpid()
        self._threads = ThreadPoolExecutor(self._thread_count, "decode")
        weakref.finalize(self, _end, self._threads, self._process)

    def _start(self, samples: Sequence[int]) -> tuple[list[Future[None]], Callable[[], tuple[Any, Any]]]:
        """Begins to prepare samples: the jobs in `self._threads`, and a function of the arrays that they fill."""
        raise NotImplementedError

    def _errors_of_files(self) -> AbstractContextManager[Any]:
        """Errors within it become those of the iterator."""
        raise NotImplementedError

    def _state(self) -> Any:
        """What a batch changes in the iterator."""
        return self._at, self._borrowed

    def _go_back(self, state: Any) -> None:
        self._at, self._borrowed = state

    def _finish(self, jobs: list[Future[None]], result: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        with self._errors_of_files():
            for job in jobs:
                job.result()
        return result()

    def _load(self, samples: Sequence[int]) -> tuple[Any, Any]:
        return self._finish(*self._start(samples))

    def _read_ahead(self) -> None:
        while len(self._coming) < self._most_ahead:
            before = self._state()
            try:
                try:
                    coming = self._advance()
                    if coming is None:
                        return
                    jobs, result = self._start(coming[0])
                except MXNetError as e:  # it is raised when the program asks for this batch
                    error: Future[None] = Future()
                    error.set_exception(e)
                    coming, jobs, result = ([], 0), [error], lambda: ((), ())
            except BaseException:  # Ctrl-C: the batch has not begun
                self._go_back(before)
                raise
            self._coming.append(_Coming(before, *coming, jobs, result))

    def _drop(self) -> None:
        """Forgets the batches that are ahead."""
        if self._coming:
            self._go_back(self._coming[0].before)
        while self._coming:
            for job in self._coming.pop().jobs:
                job.cancel()

    def reset(self) -> None:
        self._drop()
        super().reset()

    def iter_next(self) -> bool:
        if os.getpid() != self._process:  # after a fork: the threads are in the other process
            self._drop()
            self._make_threads()
        self._read_ahead()
        if not self._coming:
            return False
        wait(self._coming[0].jobs)  # after Ctrl-C here, the batch is the next one still
        coming = self._coming.popleft()
        try:
            self._show(coming.samples, coming.pad, self._finish(coming.jobs, coming.result))
        finally:
            self._read_ahead()
        return True
