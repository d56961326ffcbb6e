"""Sets of processes, which collectives can be restricted to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.core.distributed import Group
from compatgrad.horovod.common import basics


class ProcessSet:
    """Some of the processes. It can be used after `hvd.init(process_sets=[...])` or `hvd.add_process_set`.

    Args:
        ranks_or_comm: the ranks.

    Attributes:
        process_set_id: its number; None before it is added.
        ranks: the ranks, in order.

    Raises:
        ValueError: `ranks_or_comm` is no list of ranks.

    Example:
        >>> hvd.ProcessSet([1, 0]).ranks
        [0, 1]

    Source: `horovod.mxnet.ProcessSet` of Horovod 0.28.1.
    """

    def __init__(self, ranks_or_comm: Sequence[int]) -> None:
        self.process_set_id: int | None = None
        self.mpi_comm = None
        self._group: Group | None = None
        try:
            ranks = sorted(ranks_or_comm)
        except TypeError:
            ranks = [None]
        if any(not isinstance(rank, int) for rank in ranks):
            raise ValueError(f"ProcessSet: ranks_or_comm must be a list of ranks, got {ranks_or_comm!r}")
        self.ranks: list[int] | None = ranks

    def size(self) -> int | None:
        """The number of processes; None before the set is added."""
        return None if self.process_set_id is None or self.ranks is None else len(self.ranks)

    def rank(self) -> int | None:
        """This process's number in the set, from 0; None before the set is added."""
        if self.process_set_id is None or self.ranks is None:
            return None
        return self.ranks.index(basics.rank()) if basics.rank() in self.ranks else -1

    def included(self) -> bool | None:
        """Whether this process is in the set."""
        return None if self.ranks is None else basics.rank() in self.ranks

    def __str__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks}, mpi_comm={self.mpi_comm})"

    def _members(self, who: str) -> Group:
        """The group of the set. ValueError if it is not added, or this process is not in it."""
        world = basics.group()
        if self.process_set_id is None:
            raise ValueError(f"{who}: {self} was not added: call hvd.add_process_set first")
        if self.process_set_id == 0:
            return world
        if self._group is None:
            raise ValueError(f"{who}: process {world.rank} is not in {self}")
        return self._group

    def _forget(self) -> None:
        self.process_set_id = self._group = None


#: the set of all processes
global_process_set = ProcessSet([])
_sets: dict[int, ProcessSet] = {}
_last = 0


def _begin(process_sets: Any) -> None:
    """Called by `init`: makes the set of all processes, and adds others."""
    global_process_set.process_set_id = 0
    global_process_set.ranks = list(range(basics.group().size))
    for process_set in process_sets if isinstance(process_sets, (list, tuple)) else ():
        add_process_set(process_set)


def _end() -> None:
    """Called by `shutdown`: no set can be used from now on."""
    for process_set in (global_process_set, *_sets.values()):
        process_set._forget()
    _sets.clear()


def add_process_set(process_set: ProcessSet | Sequence[int]) -> ProcessSet:
    """Makes a set of processes usable. All processes must call it, also those outside.

    Args:
        process_set: the set, or ranks.

    Returns:
        The set.

    Raises:
        ValueError: there is a set of these ranks, or `init` was not called.

    Example:
        >>> hvd.init()
        >>> try:
        ...     hvd.add_process_set([0])
        ... except ValueError as error:
        ...     print(error)
        Attempted to add a duplicate process set: ProcessSet(process_set_id=None, ranks=[0], mpi_comm=None)

    Source: `horovod.mxnet.add_process_set` of Horovod 0.28.1.
    """
    global _last
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    world = basics.group()
    assert process_set.ranks is not None
    if any(process_set.ranks == other.ranks for other in (global_process_set, *_sets.values())):
        raise ValueError(f"Attempted to add a duplicate process set: {process_set}")
    process_set._group = world.subgroup(process_set.ranks)
    _last += 1
    process_set.process_set_id = _last
    _sets[_last] = process_set
    return process_set


def remove_process_set(process_set: ProcessSet) -> bool:
    """Forgets a set of processes. All processes must call it.

    Args:
        process_set: the set.

    Returns:
        Whether it was there; the set of all processes stays.

    Raises:
        AttributeError: `process_set` is no ProcessSet.

    Example:
        >>> hvd.init()
        >>> hvd.remove_process_set(hvd.global_process_set)
        False

    Source: `horovod.mxnet.remove_process_set` of Horovod 0.28.1.
    """
    if process_set.process_set_id not in _sets:
        return False
    del _sets[process_set.process_set_id]
    process_set._forget()
    return True
