"""Loads mini-batches of a dataset, in this process, in threads, or in other processes."""

from __future__ import annotations

import io
import multiprocessing
import multiprocessing.pool
import pickle
import random
import signal
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from multiprocessing.pool import ThreadPool
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from compatgrad.core import notes
from compatgrad.core.worker_pools import Ending, keep_memory

from ... import context
from ... import ndarray as nd
from ...ndarray._random_state import seed_all
from ...numpy import ndarray as np_ndarray
from ...util import is_np_array, is_np_shape, set_np
from ._batches import load
from .batchify import _stacked
from .sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader"]

# Below this size a copy through the pipe is cheaper than a segment of shared memory.
_SHARED_FROM_BYTES = 1 << 20


def rebuild_ndarray(cls: type, data: Any) -> nd.NDArray:
    """The NDArray that another process sent.

    Args:
        cls: its class.
        data: its values: a NumPy array, or a torch tensor in shared memory.

    Returns:
        An array of the class `cls` on this memory.

    Raises:
        TypeError: `data` is neither.

    Example:
        >>> gluon.data.dataloader.rebuild_ndarray(nd.NDArray, np.array([1.0])).asnumpy()
        array([1.])

    Source: `mxnet.gluon.data.dataloader.rebuild_ndarray` of MXNet 1.9.1, whose arguments name its shared memory.
    """
    if isinstance(data, np.ndarray):
        import torch

        data = torch.from_numpy(data)
    return cls(data)


def reduce_ndarray(x: nd.NDArray) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Prepares an NDArray for pickling in another process; large arrays are sent in shared memory.

    Args:
        x: the array.

    Returns:
        `rebuild_ndarray`, and the arguments with which another process calls it.

    Raises:
        AttributeError: `x` is no NDArray.

    Example:
        >>> make, arguments = gluon.data.dataloader.reduce_ndarray(nd.array([1.0]))
        >>> make(*arguments).asnumpy()
        array([1.], dtype=float32)

    Source: `mxnet.gluon.data.dataloader.reduce_ndarray` of MXNet 1.9.1.
    """
    import torch.multiprocessing  # noqa: F401 - its import teaches ForkingPickler to share tensors

    tensor = x.tensor.detach().cpu()
    if tensor.numel() * tensor.element_size() < _SHARED_FROM_BYTES:
        return rebuild_ndarray, (type(x), tensor.numpy())
    if tensor.storage_offset() or not tensor.is_contiguous():
        tensor = tensor.clone()  # torch would send all of the memory that a view shares
    return rebuild_ndarray, (type(x), tensor)


ForkingPickler.register(nd.NDArray, reduce_ndarray)
ForkingPickler.register(np_ndarray, reduce_ndarray)


def default_batchify_fn(data: list[Any]) -> Any:
    """Stacks samples along a new first axis.

    Args:
        data: a list of samples: NDArrays, NumPy arrays or numbers, or tuples of them.

    Returns:
        NDArray of the dtype of the samples; for tuples a list of them, one for each element.

    Raises:
        mxnet.base.MXNetError, ValueError: shapes differ.

    Example:
        >>> gluon.data.dataloader.default_batchify_fn([(np.ones(2), 0), (np.ones(2), 1)])[0].shape
        (2, 2)

    Source: `mxnet.gluon.data.dataloader.default_batchify_fn` of MXNet 1.9.1.
    """
    return _stacked(data)


def default_mp_batchify_fn(data: list[Any]) -> Any:
    """Stacks samples along a new first axis, in a worker.

    Args:
        data: a list of samples: NDArrays, NumPy arrays or numbers, or tuples of them.

    Returns:
        NDArray of the dtype of the samples; for tuples a list of them, one for each element.

    Raises:
        mxnet.base.MXNetError, ValueError: shapes differ.

    Example:
        >>> gluon.data.dataloader.default_mp_batchify_fn([(np.ones(2), 0), (np.ones(2), 1)])[0].shape
        (2, 2)

    Source: `mxnet.gluon.data.dataloader.default_mp_batchify_fn` of MXNet 1.9.1.
    """
    return _stacked(data)


def _as_in_context(data: Any, ctx: Any) -> Any:
    """All NDArrays of nested lists in another context."""
    if isinstance(data, nd.NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, (list, tuple)):
        return [_as_in_context(x, ctx) for x in data]
    return data


# what `load` may compute for a whole batch in their place
default_batchify_fn.stacks = default_mp_batchify_fn.stacks = True  # type: ignore[attr-defined]


# ---- workers --------------------------------------------------------------------------------------------------------
# of a worker process, which gets them once, at its start
_worker_dataset: Any = None
_worker_ending: Ending | None = None


def _thread_worker_initializer(active_shape: bool, active_array: bool) -> None:
    set_np(shape=active_shape, array=active_array)


def _worker_initializer(
    dataset: Any, active_shape: bool, active_array: bool, seed: int = 0, ending: Ending | None = None
) -> None:
    global _worker_dataset, _worker_ending
    import torch

    _worker_dataset = dataset
    _worker_ending = ending
    set_np(shape=active_shape, array=active_array)
    keep_memory()
    torch.set_num_threads(1)  # threads of OpenMP do not survive a fork
    # with the same seed, all workers would draw the same numbers
    seed = (seed + (multiprocessing.current_process()._identity or (0,))[-1]) % 2**32
    random.seed(seed)
    np.random.seed(seed)
    seed_all(seed)


def _is_ending() -> bool:
    return _worker_ending is not None and _worker_ending.begun()


def _worker_fn(samples: list[int], batchify_fn: Callable[..., Any], dataset: Any = None) -> bytes:
    if _is_ending():
        return b""
    batch = load(_worker_dataset, samples, batchify_fn)
    buffer = io.BytesIO()
    ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(batch)
    return b"" if _is_ending() else buffer.getvalue()


def _thread_worker_fn(samples: list[int], batchify_fn: Callable[..., Any], dataset: Any) -> Any:
    return load(dataset, samples, batchify_fn)


class _MultiWorkerIter:
    """An iterator over the batches of a sampler, in its order, which workers prepare ahead of time."""

    def __init__(
        self,
        worker_pool: Any,
        batchify_fn: Callable[..., Any],
        batch_sampler: Any,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] = _worker_fn,
        prefetch: int = 0,
        dataset: Any = None,
        data_loader: Any = None,
        timeout: float = 120,
        jobs: weakref.WeakSet[Any] | None = None,
    ) -> None:
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._pin_device_id = pin_device_id if pin_memory else None
        self._worker_fn = worker_fn
        self._dataset = dataset
        self._data_loader = data_loader  # kept alive: it ends the pool
        self._timeout = timeout
        self._iter = iter(batch_sampler)
        # the results that are waited for, by the number of their batch; subclasses in programs put theirs here
        self._data_buffer: dict[int, Any] = {}
        self._sent_idx = self._rcvd_idx = 0
        self._jobs = jobs  # of all iterators of the loader
        # the pool silently replaces a worker that dies: these processes show that one did
        self._processes = [] if isinstance(worker_pool, ThreadPool) else list(getattr(worker_pool, "_pool", ()))
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return self

    def _push_next(self) -> None:
        samples = next(self._iter, None)
        if samples is not None:
            job = (samples, self._batchify_fn, self._dataset)
            result = self._worker_pool.apply_async(self._worker_fn, job)
            self._data_buffer[self._sent_idx] = result
            self._sent_idx += 1
            if self._jobs is not None:
                self._jobs.add(result)

    def _result(self, job: Any) -> Any:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return job.get(min(1.0, max(0.0, deadline - time.monotonic())))
            except multiprocessing.TimeoutError:
                dead = [p for p in self._processes if p.exitcode is not None]
                if dead:
                    raise RuntimeError(
                        f"DataLoader: worker process {dead[0].pid} ended with exit code {dead[0].exitcode}; out of "
                        "memory or shared memory (/dev/shm), or a crash in the dataset"
                    ) from None
                if time.monotonic() >= deadline:
                    kind = "thread" if isinstance(self._worker_pool, ThreadPool) else "process"
                    raise RuntimeError(
                        f"DataLoader: no batch from a worker {kind} for {self._timeout} seconds. Does the dataset or "
                        "batchify_fn block? If they are slow, set a larger timeout; to debug, set num_workers=0"
                    ) from None

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        job = self._data_buffer.pop(self._rcvd_idx)
        self._rcvd_idx += 1
        batch = self._result(job)
        if isinstance(batch, bytes) and self._dataset is None:
            batch = pickle.loads(batch)
        if self._pin_device_id is not None:
            batch = _as_in_context(batch, context.cpu_pinned(self._pin_device_id))
        return batch

    next = __next__


class DataLoader:
    """An iterable of the mini-batches of a dataset.

    Args:
        dataset: anything with `len()` and `[]`.
        batch_size: the number of samples in a batch; needed unless there is a `batch_sampler`.
        shuffle: samples come in a new random order at each iteration; not with `sampler`.
        sampler: an iterable of indices that knows its length; None is all in order.
        last_batch: what becomes of a last batch that is too short: "keep" (None) gives it, "discard" drops it,
            "rollover" starts the next iteration with it.
        batch_sampler: an iterable of lists of indices, instead of the four above.
        batchify_fn: makes a batch of a list of samples; None stacks them.
        num_workers: 0 loads in this process, else in so many others.
        pin_memory: batches come in pinned memory.
        pin_device_id: the number of the GPU for which it is pinned.
        prefetch: how many batches workers load ahead; None is two for each.
        thread_pool: workers are threads of this process.
        timeout: how many seconds a batch of a worker may take.
        auto_reload: begins to load the next epoch when one ends.

    Raises:
        ValueError: `batch_size` is missing, or arguments exclude each other.
        AssertionError: `timeout` is not positive.
        RuntimeError: in an iteration, a worker ends or takes too long. Its errors are raised here.

    Example:
        >>> dataset = gluon.data.ArrayDataset(nd.arange(6).reshape((3, 2)), nd.array([0, 1, 2]))
        >>> for data, label in gluon.data.DataLoader(dataset, batch_size=2):
        ...     print(data.shape, label.asnumpy())
        (2, 2) [0. 1.]
        (1, 2) [2.]

    Source: `mxnet.gluon.data.DataLoader` of MXNet 1.9.1.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Any = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable[..., Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
    ) -> None:
        if timeout <= 0:
            raise AssertionError(f"DataLoader: timeout must be positive, not {timeout}")
        self._worker_pool: Any = None
        self._dataset = dataset
        self._batch_sampler = self._batches(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler)
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._num_workers = max(0, num_workers)
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        self._batchify_fn = batchify_fn or (default_mp_batchify_fn if num_workers > 0 else default_batchify_fn)
        self._jobs: weakref.WeakSet[Any] = weakref.WeakSet()  # the pool keeps those alive that have no result yet
        if self._num_workers > 0:
            notes.note_difference("workers")
            self._start_workers()
        self.auto_reload = auto_reload
        self._iter: Any = None
        if auto_reload:
            self.refresh()

    @staticmethod
    def _batches(
        dataset: Any, batch_size: int | None, shuffle: bool, sampler: Any, last_batch: str | None, batch_sampler: Any
    ) -> Any:
        if batch_sampler is not None:
            if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
                raise ValueError(
                    "DataLoader: batch_size, shuffle, sampler and last_batch must not be given with batch_sampler"
                )
            return batch_sampler
        if batch_size is None:
            raise ValueError("DataLoader: batch_size must be given unless batch_sampler is")
        if sampler is None:
            sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
        elif shuffle:
            raise ValueError("DataLoader: shuffle must not be given with sampler")
        return BatchSampler(sampler, batch_size, last_batch or "keep")

    def _start_workers(self) -> None:
        # the finalizers run at exit too, before the modules are gone that `terminate` uses
        modes = is_np_shape(), is_np_array()
        if self._thread_pool:
            self._worker_pool = ThreadPool(self._num_workers, initializer=_thread_worker_initializer, initargs=modes)
            weakref.finalize(self, self._worker_pool.terminate)
            return
        key, position = np.random.get_state()[1:3]
        seed = int(key[0]) + int(position)
        # a fork shares the dataset's memory, and needs no pickling of datasets and functions
        processes = multiprocessing.get_context("fork" if sys.platform.startswith("linux") else None)
        ending = Ending(processes)
        # workers ignore Ctrl-C: this process gets it too, and ends the workers
        handler = signal.getsignal(signal.SIGINT)
        in_main_thread = True
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except ValueError:
            in_main_thread = False
        try:
            self._worker_pool = processes.Pool(
                self._num_workers, initializer=_worker_initializer, initargs=(self._dataset, *modes, seed, ending)
            )
        finally:
            if in_main_thread:
                signal.signal(signal.SIGINT, handler)
        weakref.finalize(self, ending.end, self._worker_pool, self._jobs)

    def __iter__(self) -> Iterator[Any]:
        batches, self._iter = self._iter, None
        if batches is None:
            batches = self._prefetch_iter()
        yield from batches
        if self._iter is None and self.auto_reload:
            self.refresh()

    def _prefetch_iter(self) -> Iterator[Any]:
        if self._num_workers == 0:
            return self._load_here()
        return _MultiWorkerIter(
            self._worker_pool,
            self._batchify_fn,
            self._batch_sampler,
            pin_memory=self._pin_memory,
            pin_device_id=self._pin_device_id,
            worker_fn=_thread_worker_fn if self._thread_pool else _worker_fn,
            prefetch=self._prefetch,
            dataset=self._dataset if self._thread_pool else None,
            data_loader=self,
            timeout=self._timeout,
            jobs=self._jobs,
        )

    def _load_here(self) -> Iterator[Any]:
        dataset, batchify_fn = self._dataset, self._batchify_fn
        for samples in self._batch_sampler:
            batch = load(dataset, samples, batchify_fn)
            yield _as_in_context(batch, context.cpu_pinned(self._pin_device_id)) if self._pin_memory else batch

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Starts a pass over the dataset now; the next iteration takes it."""
        self._iter = self._prefetch_iter()

    def clean(self) -> None:
        """Forgets a pass that was started ahead."""
        self._iter = None
