"""Groups of processes, and the exchange of tensors among them."""

from __future__ import annotations

import math
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from compatgrad.core.distributed import _connecting, _waiting, launching
from compatgrad.core.distributed._messages import Messages, Packet
from compatgrad.core.distributed.errors import DistributedError
from compatgrad.core.lines import program_line

__all__ = ["Group", "Pending", "world"]

_OPERATIONS = ("sum", "max", "min", "product")
# numbers of a header: the name of the call, and what the call says about itself
_HEADER = 8
_lock = threading.RLock()
_world: Group | None = None


def world() -> Group:
    """The group of all processes that the launcher started. The first call connects them: each process must call it.
    A process that no launcher started is a group of its own, and opens no socket.

    Returns:
        The group, the same in each call.

    Raises:
        DistributedError: the processes do not all connect within the deadline, which is 1,800 s unless the environment
            variable `COMPATGRAD_TIMEOUT` says another number.
        RuntimeError: the launcher does not say where processes on several hosts can meet, or `multiprocessing` started
            this process.

    Example:
        >>> from compatgrad.core import distributed
        >>> group = distributed.world()
        >>> group.rank, group.size, group.local_rank
        (0, 1, 0)

    Source: `compatgrad/core/distributed/group.py`.
    """
    global _world
    with _lock:
        if _world is None:
            launch = launching.detect()
            if launch.size == 1:
                _world = Group([0], 0, None, None)
            else:
                board, handle = _connecting.connect(launch)
                _world = Group(list(range(launch.size)), launch.rank, _waiting.Watch(board), handle)
        return _world


class Pending:
    """A collective that runs while the program goes on. `wait` returns when its result is there.

    Args:
        finish: what `wait` does, once.

    Example:
        >>> import torch
        >>> from compatgrad.core import distributed
        >>> x = torch.ones(2)
        >>> distributed.world().all_reduce(x, wait=False).wait()

    Source: `compatgrad/core/distributed/group.py`.
    """

    def __init__(self, finish: Callable[[], None] | None = None) -> None:
        self._finish = finish

    def wait(self) -> None:
        """Waits for the result. Raises DistributedError if a process does not come."""
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()


class Group(Messages):
    """Processes that exchange tensors. `rank` is this process's number in the group, `size` their number.

    Collectives must be called by all processes of the group in the same order. They change their tensors in place, and
    raise DistributedError, which names the missing processes, instead of waiting forever. Tensors on GPUs are exchanged
    by NCCL, others by Gloo. Groups are made by `world`, and by `split` and `subgroup`.

    Args:
        ranks: the processes' numbers in the job, in the order of the group.
        rank: this process's number in the group.
        watch: what shows the others where this process waits; None in a group of one without a launcher.
        handle: torch's group; None is that of all processes.
        label: what tells the group from others of the same processes.

    Example:
        >>> import torch
        >>> from compatgrad.core import distributed
        >>> group, x = distributed.world(), torch.tensor([1.0, 2.0])
        >>> group.all_reduce(x)
        >>> x, group.split(color=0, key=0).size
        (tensor([1., 2.]), 1)

    Source: `compatgrad/core/distributed/group.py`.
    """

    def __init__(self, ranks: Sequence[int], rank: int, watch: Any, handle: Any, label: str = "") -> None:
        super().__init__()
        self.ranks = list(ranks)
        self.rank = rank
        self.size = len(self.ranks)
        self._watch = watch
        self._handle = handle
        self._name = f"{zlib.crc32(repr(self.ranks).encode()):x}{label}"
        self._twin: Group | None = None
        if watch is not None:
            watch.begun.setdefault(self._name, 0)
        # torch orders a group by the numbers in the job
        self._order = [sorted(self.ranks).index(r) for r in self.ranks]
        self._agreed: set[tuple[int, ...]] = set()
        # buffers of earlier messages, because new memory costs more time than a copy
        self._buffers: dict[Any, list[torch.Tensor]] = {}
        self._hosts: list[int] | None = None

    def __repr__(self) -> str:
        return f"<Group of {self.size} processes, rank {self.rank}>"

    # A communicator that a program copies with its model stays the same communicator.
    def __deepcopy__(self, memo: Any) -> Group:
        return self

    # ---- where processes run -----------------------------------------------------------------------------------------

    def _host_of_each(self) -> list[int]:
        """A number of the host of each process, by rank. Hosts have numbers in the order of their first process. The
        first call is a collective."""
        if self._hosts is None:
            if self.size == 1:
                self._hosts = [0]
            else:
                import socket

                names = self.all_gather_objects(socket.gethostname())
                seen: dict[str, int] = {}
                self._hosts = [seen.setdefault(name, len(seen)) for name in names]
        return self._hosts

    @property
    def local_rank(self) -> int:
        """The number of this process among those of its host."""
        hosts = self._host_of_each()
        return hosts[: self.rank].count(hosts[self.rank])

    @property
    def local_size(self) -> int:
        """The number of processes of this host."""
        hosts = self._host_of_each()
        return hosts.count(hosts[self.rank])

    @property
    def node_rank(self) -> int:
        """The number of this host."""
        return self._host_of_each()[self.rank]

    @property
    def nodes(self) -> int:
        """The number of hosts."""
        return len(set(self._host_of_each()))

    # ---- calls -------------------------------------------------------------------------------------------------------

    def _call(self, name: str, detail: str | Callable[[], str] = "") -> _waiting.Call:
        return _waiting.Call(name, detail, self._name, time.monotonic())

    def _run(self, call: _waiting.Call, start: Callable[[], Any]) -> None:
        """Starts torch's works of a collective, and waits for them."""
        call = self._watch.numbered(call)
        _waiting.complete(self._watch, self._start(call, start), call, self.ranks)

    def _start(self, call: _waiting.Call, start: Callable[[], Any]) -> list[Any]:
        try:
            works = start()
        except RuntimeError as error:
            raise _waiting.failure(self._watch, call, self.ranks, error) from None
        return works if isinstance(works, list) else [works]

    def agree(self, name: str, *numbers: int, detail: str | Callable[[], str] = "") -> list[tuple[int, ...]]:
        """Tells all processes what this process is about to call, and gets what they are about to call.

        Args:
            name: name of the call, which must be the same in all processes.
            *numbers: at most seven ints about the call.
            detail: what the call is about, for errors, or a function that returns it.

        Returns:
            The numbers of each process, by rank.

        Raises:
            DistributedError: a process has another name.
        """
        if self.size == 1:
            return [numbers]
        call = self._call(name, detail)
        mine = [zlib.crc32(name.encode()), *numbers]
        header = torch.tensor(mine + [0] * (_HEADER - len(mine)), dtype=torch.int64)
        table = torch.empty(self.size, _HEADER, dtype=torch.int64)
        import torch.distributed as dist

        # all calls have this collective as the first one, so that different calls meet and can be told apart
        self._run(call, lambda: dist.all_gather(list(table.unbind()), header, group=self._handle, async_op=True))
        rows = [tuple(row) for row in table.tolist()]
        rows = [rows[i] for i in self._order]
        if any(row[0] != mine[0] for row in rows):
            raise self._disagreement(name, [rank for rank, row in enumerate(rows) if row[0] != mine[0]])
        return [row[1 : 1 + len(numbers)] for row in rows]

    def _disagreement(self, name: str, others: Sequence[int]) -> DistributedError:
        names = self._tell(name)
        listed = "; ".join(f"rank {rank} called {names[rank]}" for rank in others[:8])
        return DistributedError(f"{names[self.rank]}, in rank {self.rank} of {self.size}: {listed}")

    def _tell(self, what: str) -> list[str]:
        """What each process says, with the line of its program, in an error that all processes raise."""
        return self._all_gather_texts(f"{what} at {program_line() or 'an unknown line'}")

    def expect_same(self, name: str, detail: Callable[[], str], *numbers: int) -> None:
        """Makes sure that all processes pass the same numbers, once for each `name` and numbers: a process that passed
        them before does not ask again.

        Args:
            name: name of the call.
            detail: returns the numbers in words, for the error.
            *numbers: at most seven ints.

        Raises:
            DistributedError: another process passes other numbers.
        """
        key = (zlib.crc32(name.encode()), *numbers)
        if self.size == 1 or key in self._agreed:
            return
        again = any(agreed[0] == key[0] for agreed in self._agreed)
        words = (lambda: f"{detail()}, other ones than before") if again else detail
        rows = self.agree(name, *numbers, detail=words)
        if any(row != numbers for row in rows):  # in all processes, or in none
            texts = self._tell(detail())
            listed = "; ".join(f"rank {rank}: {texts[rank]}" for rank in range(self.size))
            raise DistributedError(f"{name}: the processes do not agree: {listed[:2000]}")
        self._agreed.add(key)

    # ---- collectives -------------------------------------------------------------------------------------------------

    def all_reduce(
        self,
        tensor: torch.Tensor,
        op: str = "sum",
        wait: bool = True,
        name: str = "all_reduce",
        detail: Callable[[], str] | None = None,
    ) -> Pending | None:
        """Replaces `tensor` by the sum over all processes, or the maximum, minimum or product.

        Args:
            tensor: a tensor of one shape and dtype in all processes; it must be contiguous where `wait` is False.
            op: "sum", "max", "min" or "product".
            wait: False returns at once.
            name: name of the call, for errors.
            detail: returns what the call is about, for errors; None is the tensor's size and dtype.

        Returns:
            None; where `wait` is False, a Pending.

        Raises:
            DistributedError: a process is missing.
            ValueError: `op` is another word.
        """
        if op not in _OPERATIONS:
            raise ValueError(f"all_reduce: op must be one of {', '.join(_OPERATIONS)}, got {op!r}")
        if self.size == 1:
            return None if wait else Pending()
        import torch.distributed as dist

        kind = getattr(dist.ReduceOp, op.upper())
        call = self._watch.numbered(self._call(name, detail or (lambda: _words(tensor))))
        whole = tensor.contiguous()
        works = self._start(call, lambda: dist.all_reduce(whole, op=kind, group=self._handle, async_op=True))

        def finish() -> None:
            # the clock starts when the program begins to wait
            waited = call._replace(started=time.monotonic())
            _waiting.complete(self._watch, works, waited, self.ranks)
            if whole is not tensor:
                tensor.copy_(whole)

        if not wait:
            return Pending(finish)
        finish()
        return None

    def broadcast(self, tensor: torch.Tensor, root: int = 0) -> None:
        """Replaces `tensor` by that of the process `root`. Shape and dtype must be the same in all processes.

        Raises:
            DistributedError: a process is missing.
            ValueError: there is no process `root`.
        """
        self._check_rank("broadcast", "root", root)
        if self.size == 1:
            return
        import torch.distributed as dist

        whole = tensor.contiguous()
        source = self.ranks[root]
        call = self._call("broadcast", lambda: _words(tensor))
        self._run(call, lambda: dist.broadcast(whole, source, group=self._handle, async_op=True))
        if whole is not tensor:
            tensor.copy_(whole)

    def reduce(self, tensor: torch.Tensor, root: int = 0) -> None:
        """Replaces `tensor` in the process `root` by the sum over all processes; the others keep theirs.

        Raises:
            DistributedError: a process is missing.
            ValueError: there is no process `root`.
        """
        self._check_rank("reduce", "root", root)
        if self.size == 1:
            return
        import torch.distributed as dist

        # torch uses the tensors of the other processes as scratch space
        whole = tensor.clone(memory_format=torch.contiguous_format)
        call = self._call("reduce", lambda: _words(tensor))
        self._run(call, lambda: dist.reduce(whole, self.ranks[root], group=self._handle, async_op=True))
        if self.rank == root:
            tensor.copy_(whole)

    def all_gather(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """The tensors of all processes, by rank. Shape and dtype must be the same in all processes.

        Raises:
            DistributedError: a process is missing.
        """
        whole = tensor.contiguous()
        if self.size == 1:
            return [whole.clone()]
        import torch.distributed as dist

        parts = [torch.empty_like(whole) for _ in self.ranks]
        call = self._call("all_gather", lambda: _words(tensor))
        self._run(call, lambda: dist.all_gather(parts, whole, group=self._handle, async_op=True))
        return [parts[i] for i in self._order]

    def barrier(self) -> None:
        """Returns when all processes have called it.

        Raises:
            DistributedError: a process is missing.
        """
        self.agree("barrier")

    def _check_rank(self, who: str, argument: str, rank: int) -> None:
        if not 0 <= rank < self.size:
            raise ValueError(f"{who}: {argument} must be a rank from 0 to {self.size - 1}, got {rank}")

    # ---- other groups ------------------------------------------------------------------------------------------------

    def split(self, color: int, key: int) -> Group:
        """The group of the processes that pass the same `color`, in the order of `key` and then of their ranks. All
        processes of this group must call it.

        Raises:
            DistributedError: a process is missing.
        """
        rows = self.agree("split", color, key)
        members = sorted((row[1], rank) for rank, row in enumerate(rows) if row[0] == color)
        return self._make([rank for _, rank in members])

    def subgroup(self, ranks: Sequence[int]) -> Group | None:
        """The group of the processes with these ranks, in this order. All processes of this group must call it.

        Returns:
            The group, or None in a process that is not in it.

        Raises:
            DistributedError: a process is missing, or has other ranks.
            ValueError: there is no such rank, or a rank occurs twice.
        """
        for rank in ranks:
            self._check_rank("subgroup", "each of ranks", rank)
        if len(set(ranks)) != len(ranks) or not ranks:
            raise ValueError(f"subgroup: ranks must be different, and at least one, got {list(ranks)}")
        code = zlib.crc32(repr(list(ranks)).encode())
        rows = self.agree("subgroup", code)
        if any(row != (code,) for row in rows):
            raise DistributedError(f"subgroup: the processes give different ranks: {'; '.join(self._tell(str(ranks)))}")
        return self._make(ranks) if self.rank in ranks else None

    def twin(self) -> Group:
        """Another group of the same processes, the same in each call: its collectives and those of this group may come
        in an order that differs between processes. All processes must make the first call at the same place."""
        if self._twin is None:
            self._twin = self if self.size == 1 else self._make(range(self.size), "twin")
        return self._twin

    def _make(self, ranks: Sequence[int], label: str = "") -> Group:
        in_job = [self.ranks[rank] for rank in ranks]
        handle = None
        if len(ranks) > 1:
            call = self._call("a new group", f"ranks {in_job}")
            (handle,) = self._start(call, lambda: [_connecting.new_group(in_job)])
        return Group(in_job, list(ranks).index(self.rank), self._watch, handle, label)

    # ---- objects -----------------------------------------------------------------------------------------------------

    def all_gather_objects(self, obj: Any) -> list[Any]:
        """The objects of all processes, by rank. They must be picklable.

        Raises:
            DistributedError: a process is missing.
        """
        return [packet.obj for packet in self.all_gather_packets("all_gather_objects", Packet(obj))]

    def broadcast_object(self, obj: Any, root: int = 0) -> Any:
        """The object of the process `root`, in all processes. It must be picklable.

        Raises:
            DistributedError: a process is missing.
        """
        packet = self.broadcast_packet("broadcast_object", Packet(obj), root)
        return None if packet is None else packet.obj


def _words(tensor: torch.Tensor) -> str:
    return f"{math.prod(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
