"""Checkpoints from which all processes resume at the same iteration."""

from __future__ import annotations

import contextlib
import os
import tempfile  # noqa: F401  programs find it here, as in ChainerMN
import time
import warnings
from typing import TYPE_CHECKING

from compatgrad.chainer import serializers
from compatgrad.chainer.training import extension

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase

_SPARE = 5  # old files are removed when there are so many more than are to be kept


def create_multi_node_checkpointer(
    name: str, comm: CommunicatorBase, cp_interval: int = 5, gc_interval: int = 5, path: str | None = None
) -> _MultiNodeCheckpointer:
    """An extension that saves each process's trainer, and whose `maybe_load` resumes at the newest iteration for which
    all processes have a file. When training ends, its files are removed. Deprecated, as its DeprecationWarning says.

    Args:
        name: first part of the file names; rank and iteration follow.
        comm: the communicator.
        cp_interval: number of newest files that are kept when old ones are removed, at least 1.
        gc_interval: at least 1; has no effect, as in Chainer.
        path: the folder; None is the trainer's.

    Returns:
        An extension of a trainer.

    Raises:
        AssertionError: `name` or `comm` is None, or an interval is less than 1.

    Example:
        >>> import os
        >>> comm, model = chainermn.create_communicator("naive"), L.Linear(2, 1)
        >>> checkpointer = chainermn.create_multi_node_checkpointer("run", comm, path="checkpoints")
        >>> checkpointer.save(model, iteration=3)
        >>> os.listdir("checkpoints")
        ['run.0.3']
        >>> checkpointer.maybe_load(model)

    Source: `chainermn.create_multi_node_checkpointer` of Chainer 7.8.1.
    """
    warnings.warn(
        "Checkpointer is deprecated. Use chainer.extensions.multi_node_snapshot instead.", DeprecationWarning,
        stacklevel=2,
    )  # fmt: skip
    return _MultiNodeCheckpointer(name, comm, cp_interval, gc_interval, path)


class _CheckpointStats:
    """The start and the duration of each save."""

    def __init__(self):
        self.timings, self.begin = [], None

    def start(self):
        self.begin = time.time()

    def end(self):
        if self.begin is not None:
            self.timings.append({"b": self.begin, "d": time.time() - self.begin})
        self.begin = None

    def report(self):
        """A sentence about the durations."""
        if not self.timings:
            return "No stats available"
        s = [t["d"] for t in self.timings]
        return f"Snapshot duration stats (sec): avg={sum(s) / len(s):f}, min={min(s):f}, max={max(s):f}"


class _MultiNodeCheckpointer(extension.Extension):
    def __init__(self, name, comm, cp_interval, gc_interval, path):
        if name is None or comm is None or cp_interval <= 0 or gc_interval <= 0:
            raise AssertionError(
                "create_multi_node_checkpointer: expected a name, a communicator and intervals above 0, got "
                f"{name=}, {comm=}, {cp_interval=}, {gc_interval=}"
            )
        self.name, self.comm = name, comm
        self.cp_interval, self.gc_interval = cp_interval, gc_interval
        self.files, self.stats = [], _CheckpointStats()
        self.path = path
        if path is not None:
            os.makedirs(path, exist_ok=True)

    def __call__(self, trainer):
        if self.path is None:
            self.path = trainer.out
        self.save(trainer, trainer.updater.iteration)

    def save(self, target, iteration):
        """Saves `target`. All processes must call it."""
        self.stats.start()
        filename = self._filename(iteration)
        os.makedirs(self.path, exist_ok=True)
        serializers.save_npz(os.path.join(self.path, filename), target)
        self.stats.end()
        self.files.append(filename)
        if len(self.files) - self.cp_interval > _SPARE:
            self._keep_common(remove=True)

    def finalize(self):
        """Removes the files."""
        if self.path is None:
            raise AssertionError("the checkpointer has neither saved nor loaded a file")
        self._remove(self.files)
        self.files = []

    def get_stats(self):
        """A sentence about the durations of the saves."""
        return self.stats.report()

    def maybe_load(self, trainer, optimizer=None, path=None):
        """Loads the newest iteration for which all processes have a file, if there is one."""
        if self.path is None:
            self.path = trainer.out if path is None else path
        found = os.listdir(self.path) if os.path.isdir(self.path) else []
        parsed = [p for p in self._parse_filenames(found) if p is not None]
        self.files = self._filenames(p[2] for p in parsed if p[1] == self.comm.rank)
        self._keep_common()
        if not self.files:
            return
        newest = max(self._iterations(self.files))
        serializers.load_npz(os.path.join(self.path, self._filename(newest)), trainer)
        if optimizer is not None:
            optimizer.needs_broadcast = False

    def _keep_common(self, remove=False):
        """Keeps in the list of files the newest iterations for which all processes have one. `remove` deletes the other
        files."""
        everybody = self.comm.gather_obj(self.files)
        common = None
        if self.comm.rank == 0:
            common = sorted(set.intersection(*map(self._iterations, everybody)))[-self.cp_interval :]
        kept = self._filenames(self.comm.bcast_obj(common))
        if remove:
            self._remove(set(self.files) - set(kept))
        self.files = kept

    def _remove(self, files):
        for file in files:
            with contextlib.suppress(OSError):
                os.remove(os.path.join(self.path, file))

    def _filename(self, iteration):
        return f"{self.name}.{self.comm.rank}.{iteration}"

    def _filenames(self, iterations):
        return [self._filename(i) for i in iterations]

    def _iterations(self, files):
        return {iteration for _, _, iteration in self._parse_filenames(files)}

    def _parse_filenames(self, files):
        return [self._parse(file) for file in files]

    def _parse(self, file):
        """Name, rank and iteration of a file name; None if the name is not this checkpointer's."""
        name, *numbers = file.split(".")
        if name != self.name or len(numbers) != 2 or not all(n.isdigit() for n in numbers):
            return None
        return name, int(numbers[0]), int(numbers[1])
