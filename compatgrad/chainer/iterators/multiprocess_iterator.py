"""The iterator that loads examples in processes."""

from __future__ import annotations

import atexit
import collections
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from multiprocessing import sharedctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.chainer.iterators import _statemachine
from compatgrad.core.worker_pools import Ending, keep_memory

if TYPE_CHECKING:
    from collections.abc import Callable

# Interval at which waiting threads check whether the iterator has ended or was reset.
_POLL_SECONDS = 0.1


class MultiprocessIterator(_statemachine.StateIterator):
    """Reads the examples of the next batches in processes while the last batch is used. Arrays come through shared
    memory. An error of the dataset is raised by `next`.

    Args:
        dataset: an object with a length that returns an example for each index.
        batch_size: number of examples in a batch.
        repeat: True continues with the next epoch; False raises StopIteration after one epoch.
        shuffle: True draws a new order of the examples for each epoch from NumPy's global random state; None is True
            unless there is an `order_sampler`.
        n_processes: number of processes; None is one per CPU.
        n_prefetch: number of batches that are read ahead.
        shared_mem: bytes of shared memory for the arrays of one example; None measures it on the first batch.
        order_sampler: function of the order of an epoch, an array of indices, and of the position reached in it; it
            returns the order of the next epoch.
        dataset_timeout: seconds to wait for a batch before a `TimeoutWarning`; None never warns.
        maxtasksperchild: number of examples after which a process is replaced by a new one; None keeps them.

    Raises:
        ValueError: both `shuffle` and `order_sampler` are given.

    Example:
        >>> it = chainer.iterators.MultiprocessIterator([10, 20, 30], 2, repeat=False, shuffle=False, n_processes=1)
        >>> with it:
        ...     list(it)
        [[10, 20], [30]]

    Source: `chainer.iterators.MultiprocessIterator` of Chainer 7.8.1.
    """

    class TimeoutWarning(RuntimeWarning):
        """Warning: reading a batch takes longer than `dataset_timeout`."""

    _interruption_testing = False  # print the process ids of the workers
    _finalized = False
    _prefetcher = None

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_processes: int | None = None,
        n_prefetch: int = 1,
        shared_mem: int | None = None,
        order_sampler: Callable[[np.ndarray, int], np.ndarray] | None = None,
        dataset_timeout: float | None = 30.0,
        maxtasksperchild: int | None = None,
    ) -> None:
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)
        self.shuffle = shuffle
        self.n_processes = n_processes or multiprocessing.cpu_count()
        self.n_prefetch = max(n_prefetch, 1)
        self.shared_mem = shared_mem
        self.dataset_timeout = dataset_timeout
        self._maxtasksperchild = maxtasksperchild
        self._make_prefetcher()
        self.reset()

    def _make_prefetcher(self):
        self._prefetcher = _Prefetcher(
            self.dataset,
            self.batch_size,
            self._repeat,
            self.order_sampler,
            self.n_processes,
            self.n_prefetch,
            self.shared_mem,
            self.dataset_timeout,
            self._maxtasksperchild,
            self._interruption_testing,
        )

    def __next__(self) -> list[Any]:
        """The next batch, a list of examples. Without `repeat`, raises StopIteration at the end."""
        batch, state = self._prefetcher.get()
        self._previous_epoch_detail = self.epoch_detail
        self._state = state
        if isinstance(batch, BaseException):
            raise batch
        if batch is None:
            raise StopIteration
        return batch

    next = __next__

    def finalize(self) -> None:
        """Ends the processes; afterwards `reset` raises NotImplementedError."""
        if self._prefetcher is not None:
            self._prefetcher.terminate()
            self._prefetcher = None
        self._finalized = True

    def __del__(self):
        # The garbage collector may call this while a lock is held that the prefetch thread needs, so waiting for the
        # thread could deadlock.
        if self._prefetcher is not None:
            self._prefetcher.terminate(wait=False)

    def _set_state(self, state):
        if self._finalized:
            raise NotImplementedError("Reset of finalized MultiProcessIterator is currently not supported.")
        self._state = state
        self._prefetcher.reset(state)

    def __copy__(self):
        other = MultiprocessIterator.__new__(type(self))
        other.__setstate__(self.__getstate__())
        return other

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "_prefetcher"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._make_prefetcher()
        self._prefetcher.reset(self._state)


# Prefetchers whose threads are running.
_running = set()


@atexit.register
def _terminate_all():
    # A daemon thread that holds a pool must stop before the interpreter is torn down.
    for prefetcher in list(_running):
        prefetcher.terminate()


class _Prefetcher:
    """A thread that reads batches ahead in a pool of processes. It has no reference to the iterator, so that the
    garbage collector can collect an unused iterator, which then ends the thread.
    """

    def __init__(
        self,
        dataset,
        batch_size,
        repeat,
        order_sampler,
        n_processes,
        n_prefetch,
        mem_size,
        timeout,
        maxtasksperchild,
        print_pids,
    ):
        self._dataset = dataset
        self._batch_size = batch_size
        self._repeat = repeat
        self._order_sampler = order_sampler
        self._n_processes = n_processes
        self._n_prefetch = n_prefetch
        self._mem_size = mem_size
        self._timeout = timeout
        self._maxtasksperchild = maxtasksperchild
        self._print_pids = print_pids

        self._pid = os.getpid()
        self._thread = None
        self._pool = None
        self._ending = None
        self._result = None  # of the pool, which may not have come yet
        self._changed = threading.Condition()
        # The condition guards these attributes. The generation counts resets: batches of an earlier generation are
        # discarded.
        self._ready = collections.deque()
        self._state = None
        self._generation = 0
        self._terminated = False

    # Called by the iterator

    def reset(self, state):
        """Continue from `state`."""
        with self._changed:
            self._state = state
            self._generation += 1
            self._ready.clear()
            self._changed.notify_all()

    def get(self):
        """Return a pair: the next batch, None at the end, or the exception that the dataset raised; and the state after
        the batch."""
        if self._thread is None:
            first = self._measure() if self._mem_size is None else None
            self._start()
            if first is not None:
                return first
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        with self._changed:
            while not self._ready:
                self._changed.wait(_POLL_SECONDS)
                if deadline is not None and not self._ready and time.monotonic() > deadline:
                    deadline = None
                    _warn_of_timeout()
            result = self._ready.popleft()
            self._changed.notify_all()
        return result

    def terminate(self, wait=True):
        """Stop the thread, which ends the processes."""
        if os.getpid() != self._pid:
            return  # a copy in a worker process, which owns neither the thread nor the pool
        with self._changed:
            self._terminated = True
            self._changed.notify_all()
        if wait and self._thread is not None:
            self._thread.join()

    def _measure(self):
        """Read the first batch in this process, to know how large its examples are."""
        state, indices = self._advance(self._state)
        self._state = state
        if indices is None:
            return None, state
        result = []

        def read():
            try:
                result.append([self._dataset[index] for index in indices])
            except Exception as e:
                result.append(e)

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        thread.join(self._timeout)
        if thread.is_alive():
            _warn_of_timeout()
            thread.join()
        (batch,) = result
        self._mem_size = 0 if isinstance(batch, Exception) else max(map(_measure, batch), default=0)
        return batch, state

    def _start(self):
        # Fork the processes before starting the thread: a fork copies locks that a thread holds, but not the thread.
        self._mem = sharedctypes.RawArray("b", self._batch_size * self._mem_size) if self._mem_size else None
        self._ending = Ending()
        self._pool = multiprocessing.Pool(
            self._n_processes,
            _set_up_worker,
            (self._dataset, self._mem_size, self._mem, self._ending),
            self._maxtasksperchild,
        )
        if self._print_pids:
            print(*self._pool.map(_get_pid, range(self._n_processes)), flush=True)
        self._thread = threading.Thread(target=self._run, name="prefetch_loop", daemon=True)
        _running.add(self)
        self._thread.start()

    def _advance(self, state):
        return _statemachine.iterator_statemachine(
            state, self._batch_size, self._repeat, self._order_sampler, len(self._dataset)
        )

    # Called in the thread

    def _run(self):
        try:
            while not self._terminated:
                self._prefetch()
        finally:
            self._ending.end(self._pool, [] if self._result is None else [self._result])
            self._pool.join()
            _running.discard(self)

    def _prefetch(self):
        with self._changed:
            state, generation = self._state, self._generation
        try:
            state, indices = self._advance(state)
            batch = None if indices is None else self._read(indices)
        except Exception as e:
            batch = e
        with self._changed:
            while len(self._ready) >= self._n_prefetch and generation == self._generation and not self._terminated:
                self._changed.wait()
            if generation == self._generation:
                self._ready.append((batch, state))
                self._state = state
                self._changed.notify_all()

    def _read(self, indices):
        self._result = self._pool.map_async(_read_example, enumerate(indices))
        while not self._terminated:
            try:
                examples = self._result.get(_POLL_SECONDS)
            except multiprocessing.TimeoutError:
                continue
            return [_unpack(example, self._mem) for example in examples]
        return None


def _warn_of_timeout():
    warnings.warn(
        "Stalled dataset is detected: a batch takes longer than the dataset_timeout of the "
        "MultiprocessIterator. A common cause are threads of a library such as OpenCV, which do "
        "not survive the fork of the workers: give it one thread, or use MultithreadIterator.",
        MultiprocessIterator.TimeoutWarning,
        stacklevel=4,
    )


# A worker's dataset and shared memory: globals of its process, so that they need not be sent with each example.
_worker_dataset = None
_worker_ending = None
_worker_mem_size = None
_worker_mem = None


def _set_up_worker(dataset, mem_size, mem, ending):
    global _worker_dataset, _worker_mem_size, _worker_mem, _worker_ending
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends its workers
    keep_memory()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)  # OpenMP's threads do not survive a fork
    _worker_dataset = dataset
    _worker_ending = ending
    _worker_mem_size = mem_size
    _worker_mem = mem


def _read_example(number_and_index):
    if _worker_ending.begun():
        return None
    number, index = number_and_index
    example = _worker_dataset[index]
    if _worker_ending.begun():
        return None
    if _worker_mem is None:
        return example
    start = number * _worker_mem_size
    return _pack(example, _worker_mem, start, start + _worker_mem_size)


def _get_pid(_):
    return os.getpid()


class _PackedNdarray:
    """Describes an array whose data lies in shared memory, and is sent instead of it."""

    def __init__(self, array, mem, offset):
        self.shape = array.shape
        self.dtype = array.dtype
        self.size = array.size
        self.offset = offset
        np.frombuffer(mem, self.dtype, self.size, offset)[...] = array.ravel()

    def unpack(self, mem):
        return np.frombuffer(mem, self.dtype, self.size, self.offset).reshape(self.shape).copy()


def _measure(example):
    """Bytes of the arrays in an example that is a tuple, list or dict."""
    if type(example) is dict:
        example = list(example.values())
    elif type(example) not in (tuple, list):
        return 0
    return sum(v.nbytes for v in example if isinstance(v, np.ndarray))


def _map_values(function, example):
    """Apply a function to an example, or to its values where it is a tuple, list or dict."""
    kind = type(example)
    if kind is tuple or kind is list:
        return kind([function(v) for v in example])
    if kind is dict:
        return {k: function(v) for k, v in example.items()}
    return function(example)


def _pack(example, mem, start, limit):
    """Copy the arrays of an example to `mem` between `start` and `limit`, as many as fit."""
    offset = start
    missing = 0

    def pack(value):
        nonlocal offset, missing
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return value
        if offset + value.nbytes > limit:
            missing += value.nbytes
            return value
        packed = _PackedNdarray(value, mem, offset)
        offset += value.nbytes
        return packed

    packed = _map_values(pack, example)
    if missing:
        warnings.warn(
            "Shared memory size is too small.\n"
            "Please set shared_mem option for MultiprocessIterator.\n"
            f"Expect shared memory size: {offset - start + missing} bytes.\n"
            f"Actual shared memory size: {limit - start} bytes.",
            UserWarning,
            stacklevel=2,
        )
    return packed


def _unpack(example, mem):
    return _map_values(lambda v: v.unpack(mem) if isinstance(v, _PackedNdarray) else v, example)
