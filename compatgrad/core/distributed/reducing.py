"""Sums and means of many tensors over processes, in few messages."""

from __future__ import annotations

import math
import zlib
from collections import deque
from collections.abc import Callable, Sequence

import torch

from compatgrad.core.distributed.group import Group, Pending

__all__ = ["Buckets", "announce", "reduce_tensors"]

#: bytes of a message, and of the first one, which is smaller so that communication begins early
_BYTES, _FIRST = 25 << 20, 1 << 20


class _Bucket:
    """Tensors that travel as one message."""

    def __init__(self, group: Group, tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> None:
        self.tensors = list(tensors)
        device, count = self.tensors[0].device, sum(t.numel() for t in self.tensors)
        self.free = group._buffers.setdefault((count, dtype, device), [])
        self.flat = self.free.pop() if self.free else torch.empty(count, dtype=dtype, device=device)
        pieces = self.flat.split([t.numel() for t in self.tensors])
        self.views = [piece.view(t.shape) for piece, t in zip(pieces, self.tensors, strict=True)]
        self.pending: Pending | None = None

    def start(self, group: Group, name: str, detail: Callable[[], str] | None, factor: float) -> None:
        if factor == 1:
            torch._foreach_copy_(self.views, self.tensors)
        else:  # in the wider dtype
            for view, tensor in zip(self.views, self.tensors, strict=True):
                torch.mul(tensor, factor, out=view)
        self.pending = group.all_reduce(self.flat, wait=False, name=name, detail=detail)

    def finish(self, factor: float) -> None:
        assert self.pending is not None
        self.pending.wait()
        if factor != 1:
            self.flat.mul_(factor)
        torch._foreach_copy_(self.tensors, self.views)
        self.free.append(self.flat)


class Buckets:
    """Replaces tensors by their sums over the processes of a group, times a factor, while the program goes on.

    Tensors of one device and one dtype of communication travel together, in messages of about 25 MiB, so that the copy
    of one overlaps with the transfer of another. The results do not depend on how tensors are shared among messages,
    but for the order of sums of three processes and more.

    Args:
        group: the processes.
        factor: by which the sums are multiplied, in the dtype of communication.
        name: name of the call, for errors.
        detail: returns what the call is about, for errors; None is sizes and dtypes.
        before: by which the tensors are multiplied before they are summed, so that sums stay finite in float16.

    Example:
        >>> import torch
        >>> from compatgrad.core import distributed
        >>> from compatgrad.core.distributed.reducing import Buckets
        >>> x = torch.ones(2)
        >>> buckets = Buckets(distributed.world(), factor=0.5, name="test")
        >>> buckets.add([x], [torch.float32])
        >>> buckets.finish()
        >>> x
        tensor([0.5000, 0.5000])

    Source: `compatgrad/core/distributed/reducing.py`.
    """

    def __init__(
        self, group: Group, factor: float, name: str, detail: Callable[[], str] | None = None, before: float = 1.0
    ) -> None:
        self.group, self.factor, self.name, self.detail, self.before = group, factor, name, detail, before
        self._started: list[_Bucket] = []
        self._sent = 0
        self._messages: deque[tuple[torch.dtype, list[int]]] = deque()
        self._given: dict[int, torch.Tensor] = {}
        self._message: list[torch.Tensor] = []  # the last tensors of the first message, from the end

    def add(self, tensors: Sequence[torch.Tensor], dtypes: Sequence[torch.dtype]) -> None:
        """Starts the sums of `tensors`, which must not change until `finish`. `dtypes`: the dtype in which each
        travels. All processes must add the same shapes and dtypes in the same order."""
        self.plan([(t.numel(), d, t.device) for t, d in zip(tensors, dtypes, strict=True)])
        for i, tensor in enumerate(tensors):
            self.put(i, tensor)

    def plan(self, forms: Sequence[tuple[int, torch.dtype, torch.device]]) -> None:
        """Says which tensors `put` will bring: their sizes, the dtypes in which they travel, and their devices. All
        processes must plan the same."""
        self._given.clear()
        rest_of: dict[tuple[torch.dtype, torch.device], list[int]] = {}
        sizes: dict[tuple[torch.dtype, torch.device], int] = {}
        for i, (count, dtype, device) in enumerate(forms):
            key = (dtype, device)
            rest_of.setdefault(key, []).append(i)
            sizes[key] = sizes.get(key, 0) + count * dtype.itemsize
            if sizes[key] >= (_BYTES if self._sent + len(self._messages) else _FIRST):
                self._messages.append((dtype, rest_of.pop(key)))
                sizes.pop(key)
        self._messages.extend((dtype, rest) for (dtype, _), rest in rest_of.items())

    def put(self, i: int, tensor: torch.Tensor) -> None:
        """Brings tensor i of the plan, which must not change until `finish`. A message leaves when all its tensors are
        there and all messages before it have left, so that their order is the same in all processes."""
        self._given[i] = tensor
        while self._messages:
            dtype, indices = self._messages[0]
            while indices and indices[-1] in self._given:
                self._message.append(self._given[indices.pop()])
            if indices:
                return
            self._messages.popleft()
            tensors, self._message = self._message[::-1], []
            self._send(tensors, dtype)

    def _send(self, tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> None:
        bucket = _Bucket(self.group, tensors, dtype)
        if bucket.flat.numel():
            bucket.start(self.group, self.name, self.detail, self.before)
            self._started.append(bucket)
        self._sent += 1

    def finish(self) -> None:
        """Waits for the sums and writes them into the tensors. Raises DistributedError if a process does not come."""
        started, self._started = self._started, []
        for bucket in started:
            bucket.finish(self.factor)


def reduce_tensors(
    group: Group,
    tensors: Sequence[torch.Tensor],
    dtypes: Sequence[torch.dtype],
    factor: float,
    name: str,
    names: Sequence[str] = (),
    detail: Callable[[], str] | None = None,
) -> Buckets:
    """Starts to replace tensors by their sums over all processes, times `factor`.

    Args:
        group: the processes.
        tensors: the tensors; the same shapes in all processes.
        dtypes: the dtype in which each tensor travels.
        factor: by which the sums are multiplied.
        name: name of the call, for errors.
        names: names of the tensors, which must be the same in all processes.
        detail: returns words for errors; None says how many tensors and elements there are.

    Returns:
        Buckets, whose `finish` waits for the results.

    Raises:
        DistributedError: the processes pass other tensors, or one is missing.

    Example:
        >>> import torch
        >>> from compatgrad.core import distributed
        >>> from compatgrad.core.distributed.reducing import reduce_tensors
        >>> x = torch.ones(2)
        >>> reduce_tensors(distributed.world(), [x], [x.dtype], 2.0, "test").finish()
        >>> x
        tensor([2., 2.])

    Source: `compatgrad/core/distributed/reducing.py`.
    """
    words = detail or (lambda: f"{len(tensors)} arrays with {sum(t.numel() for t in tensors)} elements")
    announce(group, tensors, dtypes, name, names, words)
    buckets = Buckets(group, factor, name, words)
    buckets.add(tensors, dtypes)
    return buckets


def announce(
    group: Group,
    tensors: Sequence[torch.Tensor],
    dtypes: Sequence[torch.dtype],
    name: str,
    names: Sequence[str],
    detail: Callable[[], str],
) -> None:
    """Makes sure that all processes are about to sum the same tensors. All processes must call it.

    Args:
        group: the processes.
        tensors: the tensors.
        dtypes: the dtype in which each tensor travels.
        name: name of the call, for errors.
        names: names of the tensors.
        detail: returns words for errors.

    Raises:
        DistributedError: shapes, dtypes or names differ between processes, or a process is missing.

    Example:
        >>> import torch
        >>> from compatgrad.core import distributed
        >>> from compatgrad.core.distributed.reducing import announce
        >>> announce(distributed.world(), [torch.ones(2)], [torch.float32], "test", ["x"], lambda: "one array")

    Source: `compatgrad/core/distributed/reducing.py`.
    """
    forms = [(tuple(t.shape), str(t.dtype), str(d)) for t, d in zip(tensors, dtypes, strict=True)]
    code = zlib.crc32(repr((list(names), forms)).encode())
    total = sum(math.prod(shape) for shape, _, _ in forms)
    group.expect_same(name, detail, len(tensors), total, code)
