"""Messages of any form between processes: objects, and tensors whose shapes the receiver does not know."""

from __future__ import annotations

import datetime
import pickle
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compatgrad.core.distributed import _connecting, _waiting

__all__ = ["ANY", "Message", "Packet"]

#: any tag, or any source
ANY = -1
# tensors begin at multiples of this number, so that a tensor of any dtype can be read without a copy
_ALIGNMENT = 16
# largest part of a broadcast
_CHUNK = 1 << 28
# torch's tags: of messages between two processes, and of those that a collective consists of
_MESSAGE, _COLLECTIVE = 1, 2


class Packet(NamedTuple):
    """Something that processes exchange.

    Args:
        obj: any picklable object.
        tensors: tensors of any shape, dtype and device. They arrive on the CPU.

    Example:
        >>> import torch
        >>> from compatgrad.core import distributed
        >>> group = distributed.world()
        >>> group.all_gather_packets("test", distributed.Packet("a", [torch.ones(2)]))
        [Packet(obj='a', tensors=[tensor([1., 1.])])]

    Source: `compatgrad/core/distributed/_messages.py`.
    """

    obj: Any
    tensors: Sequence[torch.Tensor] = ()


class Message(NamedTuple):
    """A packet that arrived, with the rank of its sender and its tag.

    Args:
        source: the sender's rank.
        tag: the tag.
        packet: what was sent.

    Example:
        >>> from compatgrad.core import distributed
        >>> distributed.Message(0, 7, distributed.Packet("a")).tag
        7

    Source: `compatgrad/core/distributed/_messages.py`.
    """

    source: int
    tag: int
    packet: Packet


def _pad(size: int) -> int:
    return -size % _ALIGNMENT


def to_bytes(packet: Packet) -> torch.Tensor:
    """The packet as one tensor of bytes on the CPU."""
    forms = [(str(t.dtype).removeprefix("torch."), tuple(t.shape)) for t in packet.tensors]
    head = pickle.dumps((packet.obj, forms), protocol=pickle.HIGHEST_PROTOCOL)
    parts = [len(head).to_bytes(8, "little") + head]
    parts[0] += bytes(_pad(len(parts[0])))
    pieces = [torch.frombuffer(bytearray(parts[0]), dtype=torch.uint8)]
    for tensor in packet.tensors:
        flat = tensor.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8)
        pieces.append(flat)
        if _pad(flat.numel()):
            pieces.append(torch.zeros(_pad(flat.numel()), dtype=torch.uint8))
    return torch.cat(pieces)


def from_bytes(data: torch.Tensor) -> Packet:
    """The inverse of `to_bytes`; tensors share the memory of `data`."""
    size = int.from_bytes(data[:8].numpy().tobytes(), "little")
    obj, forms = pickle.loads(data[8 : 8 + size].numpy().tobytes())
    at = 8 + size + _pad(8 + size)
    tensors = []
    for name, shape in forms:
        dtype = getattr(torch, name)
        count = torch.Size(shape).numel() * dtype.itemsize
        tensors.append(data[at : at + count].view(dtype).reshape(shape))
        at += count + _pad(count)
    return Packet(obj, tensors)


class Messages:
    """The methods of `Group` for packets."""

    if TYPE_CHECKING:
        ranks: list[int]
        rank: int
        size: int
        _watch: Any
        _handle: Any
        _call: Callable[..., _waiting.Call]
        _run: Callable[[_waiting.Call, Callable[[], Any]], None]
        _start: Callable[[_waiting.Call, Callable[[], Any]], list[Any]]
        _order: list[int]
        agree: Callable[..., list[tuple[int, ...]]]
        all_gather: Callable[[torch.Tensor], list[torch.Tensor]]
        _check_rank: Callable[[str, str, int], None]

    def __init__(self) -> None:
        # messages that arrived before the program asked for their tags
        self._early: list[Message] = []

    # ---- between two processes ---------------------------------------------------------------------------------------

    def _wait_all(self, call: _waiting.Call, start: Callable[[], list[Any]], others: Sequence[int]) -> None:
        """Starts messages and waits for all. In this case Gloo cannot go on waiting after it has waited in vain, so
        that there is no look at the board in between."""
        ranks = [self.ranks[other] for other in others]
        until = call.started + _connecting.deadline()
        with self._watch.during(call):
            for work in self._start(call, start):
                try:
                    work.wait(datetime.timedelta(seconds=max(until - time.monotonic(), 0.001)))
                except RuntimeError as error:
                    raise _waiting.failure(self._watch, call, ranks, error) from None

    def send(self, packet: Packet, dest: int, tag: int = 0) -> None:
        """Sends a packet to another process, and returns when it has begun to receive it.

        Args:
            packet: what is sent.
            dest: rank of the receiver.
            tag: a number that the receiver must name.

        Raises:
            DistributedError: the receiver does not come.
            ValueError: `dest` is this process, or there is no such process.
        """
        self._check_partner("send", "dest", dest)
        import torch.distributed as dist

        data = to_bytes(packet)
        head = torch.tensor([tag, data.numel()], dtype=torch.int64)
        to, group = self.ranks[dest], self._handle
        call = self._call("send", f"{data.numel()} bytes to rank {dest} with tag {tag}")
        for tensor in (head, data):
            self._wait_all(call, lambda t=tensor: [dist.isend(t, to, group=group, tag=_MESSAGE)], [dest])  # type: ignore[misc]

    def receive(self, source: int, tag: int = ANY) -> Message:
        """What another process sent. Messages of one process with one tag arrive in the order in which it sent them.

        Args:
            source: rank of the sender, or ANY.
            tag: the tag, or ANY.

        Returns:
            The message.

        Raises:
            DistributedError: the sender does not come.
            ValueError: `source` is this process, or there is no such process.
        """
        if source != ANY or self.size == 1:
            self._check_partner("receive", "source", source)
        for i, message in enumerate(self._early):
            if source in (ANY, message.source) and tag in (ANY, message.tag):
                return self._early.pop(i)
        while True:
            message = self._next(source, tag)
            if tag in (ANY, message.tag):
                return message
            self._early.append(message)

    def _next(self, source: int, tag: int) -> Message:
        import torch.distributed as dist

        head = torch.empty(2, dtype=torch.int64)
        words = ("any rank" if source == ANY else f"rank {source}") + ("" if tag == ANY else f" with tag {tag}")
        call = self._call("receive", f"a message from {words}")
        if source == ANY:
            others = [rank for rank in range(self.size) if rank != self.rank]
            started: list[Any] = []

            def start_any() -> list[Any]:
                started.append(dist.irecv(head, None, group=self._handle, tag=_MESSAGE))
                return started

            self._wait_all(call, start_any, others)
            # torch numbers a group in the order of the ranks in the job
            source = self.ranks.index(sorted(self.ranks)[started[0]._source_rank()])
        else:
            start = self.ranks[source]
            self._wait_all(call, lambda: [dist.irecv(head, start, group=self._handle, tag=_MESSAGE)], [source])
        found_tag, size = head.tolist()
        data = torch.empty(size, dtype=torch.uint8)
        start = self.ranks[source]
        self._wait_all(call, lambda: [dist.irecv(data, start, group=self._handle, tag=_MESSAGE)], [source])
        return Message(source, found_tag, from_bytes(data))

    def _check_partner(self, who: str, argument: str, rank: int) -> None:
        self._check_rank(who, argument, rank)
        if rank == self.rank:
            raise ValueError(f"{who}: {argument} must be another process; rank {rank} would wait for itself forever")

    # ---- collectives -------------------------------------------------------------------------------------------------

    def broadcast_packet(self, name: str, packet: Packet | None, root: int = 0) -> Packet | None:
        """The packet of the process `root`, in all other processes; the root gets what it gave.

        Args:
            name: name of the call, for errors.
            packet: what is sent; only that of the root counts.
            root: rank of the sender.

        Raises:
            DistributedError: a process is missing, or called something else.
            ValueError: there is no process `root`, or the processes name different ones.
        """
        self._check_rank(name, "root", root)
        if self.size == 1:
            return packet
        import torch.distributed as dist

        data = to_bytes(packet or Packet(None)) if self.rank == root else None
        rows = self.agree(name, root, 0 if data is None else data.numel())
        self._check_root(name, [row[0] for row in rows])
        if data is None:
            data = torch.empty(rows[root][1], dtype=torch.uint8)
        call = self._call(name, f"{data.numel()} bytes")
        source = self.ranks[root]
        for part in data.split(_CHUNK):
            self._run(call, lambda p=part: dist.broadcast(p, source, group=self._handle, async_op=True))  # type: ignore[misc]
        return packet if self.rank == root else from_bytes(data)

    def gather_packets(self, name: str, packet: Packet, root: int = 0) -> list[Packet] | None:
        """The packets of all processes, by rank, in the process `root`; None in the others. Arguments and errors as for
        `broadcast_packet`."""
        self._check_rank(name, "root", root)
        if self.size == 1:
            return [packet]
        import torch.distributed as dist

        data = to_bytes(packet)
        rows = self.agree(name, root, data.numel())
        self._check_root(name, [row[0] for row in rows])
        others = [rank for rank in range(self.size) if rank != root]
        call = self._call(name, f"{data.numel()} bytes")
        group = self._handle
        if self.rank != root:
            to = self.ranks[root]
            self._wait_all(call, lambda: [dist.isend(data, to, group=group, tag=_COLLECTIVE)], [root])
            return None
        parts = {rank: torch.empty(rows[rank][1], dtype=torch.uint8) for rank in others}
        self._wait_all(
            call,
            lambda: [dist.irecv(part, self.ranks[rank], group=group, tag=_COLLECTIVE) for rank, part in parts.items()],
            others,
        )
        return [from_bytes(parts[rank]) if rank in parts else packet for rank in range(self.size)]

    def scatter_packets(self, name: str, packets: Sequence[Packet] | None, root: int = 0) -> Packet:
        """The packet for this process of those that the process `root` gives, one for each rank. Arguments and errors
        as for `broadcast_packet`."""
        self._check_rank(name, "root", root)
        if self.size == 1:
            assert packets is not None
            return packets[0]
        import torch.distributed as dist

        rows = self.agree(name, root)
        self._check_root(name, [row[0] for row in rows])
        sizes = torch.zeros(self.size, dtype=torch.int64)
        data: list[torch.Tensor] = []
        if self.rank == root:
            assert packets is not None and len(packets) == self.size
            data = [to_bytes(packet) for packet in packets]
            sizes = torch.tensor([part.numel() for part in data])
        call = self._call(name, "sizes")
        source, group = self.ranks[root], self._handle
        self._run(call, lambda: dist.broadcast(sizes, source, group=group, async_op=True))
        others = [rank for rank in range(self.size) if rank != root]
        call = self._call(name, "parts")
        if self.rank == root:
            assert packets is not None
            self._wait_all(
                call,
                lambda: [dist.isend(data[rank], self.ranks[rank], group=group, tag=_COLLECTIVE) for rank in others],
                others,
            )
            return packets[root]
        mine = torch.empty(int(sizes[self.rank]), dtype=torch.uint8)
        self._wait_all(call, lambda: [dist.irecv(mine, source, group=group, tag=_COLLECTIVE)], [root])
        return from_bytes(mine)

    def all_gather_packets(self, name: str, packet: Packet) -> list[Packet]:
        """The packets of all processes, by rank. Arguments and errors as for `broadcast_packet`."""
        if self.size == 1:
            return [packet]
        data = to_bytes(packet)
        sizes = [row[0] for row in self.agree(name, data.numel())]
        return [from_bytes(part) for part in self._all_gather_bytes(name, data, sizes)]

    def _all_gather_bytes(self, name: str, data: torch.Tensor, sizes: Sequence[int]) -> list[torch.Tensor]:
        import torch.distributed as dist

        # all parts of a collective have one size
        whole = torch.zeros(max(sizes), dtype=torch.uint8)
        whole[: data.numel()] = data
        parts = [torch.empty_like(whole) for _ in sizes]
        call = self._call(name, f"{max(sizes)} bytes")
        self._run(call, lambda: dist.all_gather(parts, whole, group=self._handle, async_op=True))
        return [parts[i][:size] for i, size in zip(self._order, sizes, strict=True)]

    def all_to_all_packets(self, name: str, packets: Sequence[Packet]) -> list[Packet]:
        """Sends the i-th packet to rank i, and returns what all processes sent to this one, by rank. Arguments and
        errors as for `broadcast_packet`."""
        if len(packets) != self.size:
            raise ValueError(f"{name}: expected a packet for each of {self.size} processes, got {len(packets)}")
        if self.size == 1:
            return list(packets)
        import torch.distributed as dist

        data = [to_bytes(packet) for packet in packets]
        self.agree(name)
        sizes = torch.tensor([part.numel() for part in data])
        table = [torch.empty_like(sizes) for _ in data]
        call = self._call(name, "sizes")
        self._run(call, lambda: dist.all_gather(table, sizes, group=self._handle, async_op=True))
        mine = {rank: torch.empty(int(table[i][self.rank]), dtype=torch.uint8) for rank, i in enumerate(self._order)}
        others = [rank for rank in range(self.size) if rank != self.rank]
        group = self._handle
        self._wait_all(
            self._call(name, "parts"),
            lambda: (
                [dist.irecv(mine[r], self.ranks[r], group=group, tag=_COLLECTIVE) for r in others]
                + [dist.isend(data[r], self.ranks[r], group=group, tag=_COLLECTIVE) for r in others]
            ),
            others,
        )
        return [packets[rank] if rank == self.rank else from_bytes(mine[rank]) for rank in range(self.size)]

    def _check_root(self, name: str, roots: Sequence[int]) -> None:
        if len(set(roots)) > 1:
            raise ValueError(f"{name}: the processes name different roots, by rank: {list(roots)}")

    def _all_gather_texts(self, text: str) -> list[str]:
        """The texts of all processes, by rank, without a header: for processes that know what they call."""
        if self.size == 1:
            return [text]
        data = to_bytes(Packet(text))
        sizes = [int(size) for size in self.all_gather(torch.tensor([data.numel()]))]
        return [from_bytes(part).obj for part in self._all_gather_bytes("texts", data, sizes)]
