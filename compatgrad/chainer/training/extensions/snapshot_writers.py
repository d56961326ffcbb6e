"""How snapshots get to the disk."""

import multiprocessing
import os
import queue
import threading
import traceback

from compatgrad.chainer import utils
from compatgrad.chainer.serializers import npz


class Writer:
    """Base class of writers, called with a file name, a folder and what is saved (see `npz.serialize`)."""

    def __init__(self):
        self._post_save_hooks = []

    def __call__(self, filename, outdir, target):
        raise NotImplementedError

    def __del__(self):
        self.finalize()

    def finalize(self):
        """Called at the end of the training: waits for what is under way. May be called twice."""

    def save(self, filename, outdir, target, savefun, **kwds):
        """Call ``savefun(path, target, **kwds)``, have the file appear when complete, call the hooks."""
        with utils.tempdir(prefix="tmp" + filename, dir=outdir) as folder:
            temp_path = os.path.join(folder, filename)
            savefun(temp_path, target, **kwds)
            os.replace(temp_path, os.path.join(outdir, filename))
        self._post_save()

    def _add_cleanup_hook(self, hook_fun):
        self._post_save_hooks.append(hook_fun)

    def _post_save(self):
        for hook in self._post_save_hooks:
            hook()


class SimpleWriter(Writer):
    """Writes at once. `savefun`: called with a path, the target and `kwds`."""

    def __init__(self, savefun=npz.save_npz, **kwds):
        super().__init__()
        self._savefun = savefun
        self._kwds = kwds

    def __call__(self, filename, outdir, target):
        self.save(filename, outdir, target, self._savefun, **self._kwds)


class StandardWriter(SimpleWriter):
    """Base class of writers that start a worker, with ``start`` and ``join``, for each file."""

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

    def create_worker(self, filename, outdir, target, **kwds):
        """Return a worker that calls `save`."""
        raise NotImplementedError

    def finalize(self):
        self._join()


class ThreadWriter(StandardWriter):
    """Writes in a thread. The arguments are those of `SimpleWriter`."""

    def create_worker(self, filename, outdir, target, **kwds):
        return threading.Thread(target=self.save, args=(filename, outdir, target, self._savefun), kwargs=kwds)


class ProcessWriter(StandardWriter):
    """Writes in a process. The arguments are those of `SimpleWriter`."""

    def create_worker(self, filename, outdir, target, **kwds):
        return multiprocessing.Process(target=self.save, args=(filename, outdir, target, self._savefun), kwargs=kwds)


class QueueWriter(Writer):
    """Base class of writers that hand files to one worker through a queue.

    `savefun`: called with a path and the target. `task`: a writer to use instead.
    """

    _consumer = None

    def __init__(self, savefun=npz.save_npz, task=None):
        super().__init__()
        self._task = self.create_task(savefun) if task is None else task
        self._queue = self.create_queue()
        self._consumer = self.create_consumer(self._queue)
        self._consumer.start()

    def __call__(self, filename, outdir, target):
        self._queue.put([self._task, filename, outdir, target])

    def create_task(self, savefun):
        """Return the writer that the worker calls."""
        return SimpleWriter(savefun=savefun)

    def create_queue(self):
        """Return a queue with ``task_done`` and ``join``."""
        raise NotImplementedError

    def create_consumer(self, q):
        """Return a worker that calls ``consume(q)``."""
        raise NotImplementedError

    def consume(self, q):
        """Write what comes from the queue, until None comes."""
        while True:
            task = q.get()
            try:
                if task is None:
                    return
                task[0](task[1], task[2], task[3])
            except Exception:
                # The training goes on: without a consumer it would wait for ever at its end.
                traceback.print_exc()
            finally:
                q.task_done()

    def finalize(self):
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            self._queue.put(None)
            self._queue.join()
            consumer.join()


class ThreadQueueWriter(QueueWriter):
    """Writes in one thread. The arguments are those of `QueueWriter`."""

    def create_queue(self):
        return queue.Queue()

    def create_consumer(self, q):
        return threading.Thread(target=self.consume, args=(q,))


class ProcessQueueWriter(QueueWriter):
    """Writes in one process. The arguments are those of `QueueWriter`."""

    def create_queue(self):
        return multiprocessing.JoinableQueue()

    def create_consumer(self, q):
        return multiprocessing.Process(target=self.consume, args=(q,))
