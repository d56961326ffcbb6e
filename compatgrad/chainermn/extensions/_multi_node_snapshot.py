"""Snapshots of several processes, of which some have the same state."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from compatgrad.chainer.serializers import load_npz, save_npz
from compatgrad.chainer.training.extension import Extension
from compatgrad.chainer.training.extensions._snapshot import _find_latest_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def multi_node_snapshot(
    comm: CommunicatorBase, snapshot: Any, replica_sets: Sequence[int | Sequence[int]]
) -> _MultiNodeSnapshot:
    """Makes an extension that runs `snapshot` once for each set of processes that have the same state. The first
    process of a set writes the file, with its rank appended to the name. Where `snapshot` has autoload, this process
    also sends the loaded state to the others.

    Args:
        comm: the communicator.
        snapshot: the result of `training.extensions.snapshot`; its file name is changed.
        replica_sets: a list of ranks and of lists of ranks, the sets; the remaining ranks are one more set.

    Returns:
        An extension of a trainer.

    Raises:
        AssertionError: a rank is in two sets, or there is no such rank; `comm` or `snapshot` is None.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> snapshot = chainer.training.extensions.snapshot(filename="epoch_3")
        >>> extension = chainermn.extensions.multi_node_snapshot(comm, snapshot, [[0]])
        >>> extension.is_master, snapshot.filename
        (True, 'epoch_3.0')

    Source: `chainermn.extensions.multi_node_snapshot` of Chainer 7.8.1.
    """
    return _MultiNodeSnapshot(comm, snapshot, replica_sets)


def _parse_replica_sets(replica_sets, size):
    sets = [{s} if isinstance(s, int) else set(s) for s in replica_sets]
    rest = set(range(size)).difference(*sets)
    if rest:
        sets.append(rest)
    if sorted(rank for s in sets for rank in s) != list(range(size)):
        raise AssertionError(f"replica_sets: each of the ranks 0 to {size - 1} must be in one set, got {replica_sets}")
    return sets


class _MultiNodeSnapshot(Extension):
    def __init__(self, comm, snapshot, replica_sets):
        if comm is None or snapshot is None:
            raise AssertionError(
                f"multi_node_snapshot: expected a communicator and a snapshot, got {comm=}, {snapshot=}"
            )
        self.comm, self.snapshot = comm, snapshot
        name = snapshot.filename
        if callable(name):
            snapshot.filename = lambda trainer: f"{name(trainer)}.{comm.rank}"
        else:
            snapshot.filename = f"{name}.{comm.rank}"
        self.replica_set = next(s for s in _parse_replica_sets(replica_sets, comm.size) if comm.rank in s)
        self.master = min(self.replica_set)

    @property
    def is_master(self):
        """Whether this process writes the file of its set."""
        return self.master == self.comm.rank

    def initialize(self, trainer):
        if self.is_master:
            self.snapshot.initialize(trainer)
        if not self.snapshot.autoload:
            return
        target = trainer if self.snapshot._target is None else self.snapshot._target
        if not self.is_master:
            state = self.comm.recv_obj(self.master)
            if state is not None:
                load_npz(io.BytesIO(state), target)
            return
        others = [rank for rank in self.replica_set if rank != self.comm.rank]
        if others:
            file = io.BytesIO()
            if _find_latest_snapshot(self.snapshot.filename, trainer.out) is not None:
                save_npz(file, target)
            for rank in others:
                self.comm.send_obj(file.getvalue() or None, rank)

    def on_error(self, trainer, e, t):
        if self.is_master:
            self.snapshot.on_error(trainer, e, t)

    def __call__(self, trainer):
        if self.is_master:
            self.snapshot(trainer)

    def finalize(self):
        if self.is_master:
            self.snapshot.finalize()
