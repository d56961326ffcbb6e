"""Writers, which save snapshots to the disk."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import traceback
from collections.abc import Callable
from typing import Any

from compatgrad.chainer import utils  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer.serializers import npz
from compatgrad.core.files import in_folder_beside


class Writer:
    """Base class of writers, which save snapshots: callables of a file name, a folder and a dict of arrays to save.

    Example:
        >>> class Printer(chainer.training.extensions.snapshot_writers.Writer):
        ...     def __call__(self, filename, outdir, target):
        ...         print(outdir, filename, sorted(target))
        >>> Printer()("snapshot", "result", {"W": np.zeros(2)})
        result snapshot ['W']

    Source: `chainer.training.extensions.snapshot_writers.Writer` of Chainer 7.8.1.
    """

    def __init__(self) -> None:
        self._post_save_hooks = []

    def __call__(self, filename, outdir, target):
        raise NotImplementedError

    def __del__(self):
        self.finalize()

    def finalize(self) -> None:
        """Waits until all files are written. A trainer calls it at its end; it may be called twice."""

    def save(self, filename: str, outdir: str, target: Any, savefun: Callable[..., None], **kwds: Any) -> None:
        """Calls `savefun(path, target, **kwds)` so that readers never see an incomplete file, and removes old files."""
        with in_folder_beside(os.path.join(outdir, filename)) as temp_path:
            savefun(temp_path, target, **kwds)
        self._post_save()

    def _add_cleanup_hook(self, hook_fun):
        self._post_save_hooks.append(hook_fun)

    def _post_save(self):
        for hook in self._post_save_hooks:
            hook()


class SimpleWriter(Writer):
    """Writes snapshots at once.

    Args:
        savefun: saves an object under a path, with the keyword arguments.
        **kwds: the keyword arguments.

    Example:
        >>> writer = chainer.training.extensions.snapshot_writers.SimpleWriter()
        >>> writer("snapshot", ".", {"W": np.zeros(2)})
        >>> np.load("snapshot")["W"]
        array([0., 0.])

    Source: `chainer.training.extensions.snapshot_writers.SimpleWriter` of Chainer 7.8.1.
    """

    def __init__(self, savefun: Callable[..., None] = npz.save_npz, **kwds: Any) -> None:
        super().__init__()
        self._savefun = savefun
        self._kwds = kwds

    def __call__(self, filename, outdir, target):
        self.save(filename, outdir, target, self._savefun, **self._kwds)


class StandardWriter(SimpleWriter):
    """Base class of writers that start a worker, with methods `start` and `join`, for each file, after the previous
    worker has ended. A subclass defines `create_worker`.

    Args:
        savefun: saves an object under a path, with the keyword arguments.
        **kwds: the keyword arguments.

    Example:
        >>> import threading
        >>> class Thread(chainer.training.extensions.snapshot_writers.StandardWriter):
        ...     def create_worker(self, filename, outdir, target, **kwds):
        ...         return threading.Thread(target=print, args=(outdir, filename))
        >>> writer = Thread()
        >>> writer("snapshot", "result", {})
        result snapshot
        >>> writer.finalize()

    Source: `chainer.training.extensions.snapshot_writers.StandardWriter` of Chainer 7.8.1.
    """

    _worker = None

    def __call__(self, filename, outdir, target):
        self._join()
        self._filename = filename
        self._worker = self.create_worker(filename, outdir, target, **self._kwds)
        self._worker.start()

    def _join(self):
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.join()

    def create_worker(self, filename: str, outdir: str, target: Any, **kwds: Any) -> Any:
        """A worker that calls `save`."""
        raise NotImplementedError

    def finalize(self) -> None:
        """Waits for the worker."""
        self._join()


class ThreadWriter(StandardWriter):
    """Writes each snapshot in a thread.

    Args:
        savefun: saves an object under a path, with the keyword arguments.
        **kwds: the keyword arguments.

    Example:
        >>> writer = chainer.training.extensions.snapshot_writers.ThreadWriter()
        >>> writer("snapshot", ".", {"W": np.zeros(2)})
        >>> writer.finalize()
        >>> np.load("snapshot")["W"]
        array([0., 0.])

    Source: `chainer.training.extensions.snapshot_writers.ThreadWriter` of Chainer 7.8.1.
    """

    def create_worker(self, filename: str, outdir: str, target: Any, **kwds: Any) -> threading.Thread:
        """A thread that calls `save`."""
        return threading.Thread(target=self.save, args=(filename, outdir, target, self._savefun), kwargs=kwds)


class ProcessWriter(StandardWriter):
    """Writes each snapshot in a process.

    Args:
        savefun: saves an object under a path, with the keyword arguments.
        **kwds: the keyword arguments.

    Example:
        >>> writer = chainer.training.extensions.snapshot_writers.ProcessWriter()
        >>> writer("snapshot", ".", {"W": np.zeros(2)})
        >>> writer.finalize()
        >>> np.load("snapshot")["W"]
        array([0., 0.])

    Source: `chainer.training.extensions.snapshot_writers.ProcessWriter` of Chainer 7.8.1.
    """

    def create_worker(self, filename: str, outdir: str, target: Any, **kwds: Any) -> multiprocessing.Process:
        """A process that calls `save`."""
        return multiprocessing.Process(target=self.save, args=(filename, outdir, target, self._savefun), kwargs=kwds)


class QueueWriter(Writer):
    """Base class of writers that hand files to one worker through a queue. A subclass defines `create_queue` and
    `create_consumer`. Where writing a file fails, the worker prints the error and continues.

    Args:
        savefun: saves an object under a path.
        task: the writer that the worker calls; None is a `SimpleWriter`.

    Example:
        >>> import queue, threading
        >>> class Thread(chainer.training.extensions.snapshot_writers.QueueWriter):
        ...     def create_queue(self):
        ...         return queue.Queue()
        ...     def create_consumer(self, q):
        ...         return threading.Thread(target=self.consume, args=(q,))
        >>> writer = Thread(savefun=lambda path, target: open(path, "w").close())
        >>> writer("snapshot", ".", {})
        >>> writer.finalize()

    Source: `chainer.training.extensions.snapshot_writers.QueueWriter` of Chainer 7.8.1.
    """

    _consumer = None

    def __init__(self, savefun: Callable[..., None] = npz.save_npz, task: Any = None) -> None:
        super().__init__()
        self._task = self.create_task(savefun) if task is None else task
        self._queue = self.create_queue()
        self._consumer = self.create_consumer(self._queue)
        self._consumer.start()

    def __call__(self, filename, outdir, target):
        self._queue.put([self._task, filename, outdir, target])

    def create_task(self, savefun: Callable[..., None]) -> Any:
        """The writer that the worker calls."""
        return SimpleWriter(savefun=savefun)

    def create_queue(self) -> Any:
        """A queue with `put`, `get`, `task_done` and `join`."""
        raise NotImplementedError

    def create_consumer(self, q: Any) -> Any:
        """A worker, with `start` and `join`, that calls `consume(q)`."""
        raise NotImplementedError

    def consume(self, q: Any) -> None:
        """Writes the files that are put into the queue, until None is."""
        while True:
            task = q.get()
            try:
                if task is None:
                    return
                task[0](task[1], task[2], task[3])
            except Exception:
                # The training continues, so the consumer must too: finalize waits until the consumer has taken all
                # files.
                traceback.print_exc()
            finally:
                q.task_done()

    def finalize(self) -> None:
        """Waits until all files are written, and ends the worker."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            self._queue.put(None)
            self._queue.join()
            consumer.join()


class ThreadQueueWriter(QueueWriter):
    """Writes snapshots in one thread, one after the other.

    Args:
        savefun: saves an object under a path.
        task: the writer that the thread calls; None is a `SimpleWriter`.

    Example:
        >>> writer = chainer.training.extensions.snapshot_writers.ThreadQueueWriter()
        >>> writer("snapshot", ".", {"W": np.zeros(2)})
        >>> writer.finalize()
        >>> np.load("snapshot")["W"]
        array([0., 0.])

    Source: `chainer.training.extensions.snapshot_writers.ThreadQueueWriter` of Chainer 7.8.1.
    """

    def create_queue(self) -> queue.Queue[Any]:
        """A queue of this process."""
        return queue.Queue()

    def create_consumer(self, q: queue.Queue[Any]) -> threading.Thread:
        """The thread."""
        return threading.Thread(target=self.consume, args=(q,))


class ProcessQueueWriter(QueueWriter):
    """Writes snapshots in one process, one after the other.

    Args:
        savefun: saves an object under a path.
        task: the writer that the process calls; None is a `SimpleWriter`.

    Example:
        >>> writer = chainer.training.extensions.snapshot_writers.ProcessQueueWriter()
        >>> writer("snapshot", ".", {"W": np.zeros(2)})
        >>> writer.finalize()
        >>> np.load("snapshot")["W"]
        array([0., 0.])

    Source: `chainer.training.extensions.snapshot_writers.ProcessQueueWriter` of Chainer 7.8.1.
    """

    def create_queue(self) -> Any:
        """A queue between processes."""
        return multiprocessing.JoinableQueue()

    def create_consumer(self, q: Any) -> multiprocessing.Process:
        """The process."""
        return multiprocessing.Process(target=self.consume, args=(q,))
