"""The KVStore of several processes."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from typing import Any, NoReturn

import torch

from compatgrad.core import distributed

from .. import autograd
from .. import ndarray as nd
from .. import optimizer as opt
from ..base import MXNetError
from . import _roles
from ._compression import packed, unpacked
from ._stores import KVStore, _overwrite, _total

_Pairs = Sequence[tuple[Any, list[nd.NDArray]]]


class DistributedStore(KVStore):
    """A store that the processes of a job share: `push` adds up what all of them push for a key, and waits for all.

    Each process holds all values and runs the optimizer itself, on the same sums, so that values stay equal. All must
    call `init` and `push` with the same keys in the same order. The optimizer is a copy, made by `set_optimizer`; later
    changes of the given one have no effect. It is enough if one process calls it, before the next push.

    Args:
        kind: what `type` says, such as "dist_sync".

    Raises:
        MXNetError: `kind` is asynchronous; in the methods, what KVStore raises.
        DistributedError: in the methods, another process does not come, or passes other keys.
    """

    def __init__(self, kind: str) -> None:
        if "_async" in kind:
            raise MXNetError(
                f"KVStore {kind!r} is not supported: each process would train with the weights of an earlier time. Use "
                "'dist_sync', whose sums are over all processes"
            )
        super().__init__(kind)
        self._group = _roles.connected()
        # a number that grows with each optimizer, and the one that is in use
        self._given, self._used = 0, 0
        self._pickled = b""
        self._optimizer: Any = None
        # whether an update may be different in each process, because it draws random numbers
        self._draws = False
        self._masters: dict[Any, nd.NDArray] = {}

    @property
    def rank(self) -> int:
        """The number of this process, an int from 0."""
        return self._group.rank

    @property
    def num_workers(self) -> int:
        """The number of processes, an int."""
        return self._group.size

    def _barrier(self) -> None:
        """Waits until all processes have called it."""
        self._group.barrier()

    # ---- what the processes call -------------------------------------------------------------------------------------

    def _settle(self, name: str, pairs: _Pairs) -> None:
        """Makes sure that all processes call the same, and takes over the newest optimizer."""
        forms = [(key, tuple(arrays[0].shape), str(arrays[0].tensor.dtype), arrays[0].stype) for key, arrays in pairs]
        code = zlib.crc32(repr(forms).encode())
        rows = self._group.agree(f"KVStore.{name}", code, self._given)
        if any(row[0] != code for row in rows):
            texts = self._group.all_gather_objects(str(forms[:8]))
            listed = "; ".join(f"rank {rank}: {text}" for rank, text in enumerate(texts))
            raise distributed.DistributedError(
                f"KVStore.{name}: the processes pass different keys or arrays: {listed[:2000]}"
            )
        newest = max(row[1] for row in rows)
        if newest > self._used:
            root = next(rank for rank, row in enumerate(rows) if row[1] == newest)
            self._take_over(self._group.broadcast_object(self._pickled, root))
            self._given = self._used = newest

    def _take_over(self, pickled: bytes) -> None:
        self._optimizer = pickle.loads(pickled)
        self._updater = opt.get_updater(self._optimizer)
        self._masters = {}
        kind = type(self._optimizer)
        known = kind.__module__.startswith(opt.__name__) and not issubclass(kind, opt.SGLD)
        self._draws = not known

    def init(self, key: Any, value: Any) -> None:
        """Stores the value of process 0 as `key`, in all processes. All must call it. `value` may be a list, for a list
        of keys. MXNetError if a key is known."""
        pairs = self._pairs(key, value)
        super().init([k for k, _ in pairs], [arrays[0] for _, arrays in pairs])
        self._settle("init", pairs)
        for one_key, _ in pairs:
            value = self._values[one_key]
            self._group.broadcast(value.tensor)
            if self._group.rank and value.stype == "row_sparse":
                value._pattern = None  # the rows are those of process 0

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Adds up the arrays that all processes give for a key, and stores the sum, or has the optimizer use it."""
        self._push("push", self._pairs(key, value))

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """`push` of `value`, then `pull` to `out` (default: back to `value`)."""
        self._push("pushpull", self._pairs(key, value))
        super().pull(key, value if out is None else out, priority, ignore_sparse=False)

    def _push(self, name: str, pairs: _Pairs) -> None:
        for key, _ in pairs:
            self._stored(key)
        self._settle(name, pairs)
        for key, arrays in pairs:
            value, given = self._stored(key).tensor, arrays[0].tensor
            if (given.numel(), given.dtype) != (value.numel(), value.dtype):
                words = [f"{str(t.dtype).removeprefix('torch.')} of shape {tuple(t.shape)}" for t in (value, given)]
                raise MXNetError(f"KVStore.{name}: key {key} holds {words[0]}, got {words[1]}")
        with autograd.pause():
            for key, total in self._sums(name, pairs):
                self._apply(key, total)

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copies the value of `key` to `out`, an array or a list of them; row_sparse arrays are left as they are, and
        with `ignore_sparse` false MXNetError is raised: `row_sparse_pull` copies to them."""
        if not ignore_sparse:
            raise MXNetError("KVStore.pull: a store of several processes cannot pull with ignore_sparse=False")
        super().pull(key, out, priority)

    # ---- sums and updates --------------------------------------------------------------------------------------------

    def _sums(self, name: str, pairs: _Pairs) -> list[tuple[Any, nd.NDArray]]:
        """The sums over all processes of what is pushed. Dense arrays travel together, in few messages."""
        sums = []
        dense = distributed.Buckets(self._group, 1.0, f"KVStore.{name}")
        tensors = []
        for key, arrays in pairs:
            total = _total(arrays, self._stored(key).context)
            if self._is_half(key):
                total = total.astype("float32")
            if total.stype == "row_sparse":
                total = self._rows(name, total)
            elif self._compression is not None:
                total = self._compressed(key, total)
            else:
                tensors.append(total.tensor)
            sums.append((key, total))
        if self._group.size > 1:
            dense.add(tensors, [tensor.dtype for tensor in tensors])
            dense.finish()
        return sums

    def _is_half(self, key: Any) -> bool:
        """Whether the optimizer works with a copy of the value in float32."""
        wants = self._optimizer is not None and self._optimizer.multi_precision
        return wants and self._stored(key).tensor.dtype == torch.float16

    def _rows(self, name: str, total: Any) -> Any:
        """The sum of row_sparse arrays: processes send the rows that they have."""
        (mine,) = total._indices()
        packet = distributed.Packet(None, [mine, total.tensor[mine]])
        result = torch.zeros_like(total.tensor)
        rows = []
        for _, (indices, values) in self._group.all_gather_packets(f"KVStore.{name}", packet):
            rows.append(indices.to(result.device))
            result.index_add_(0, rows[-1], values.to(result.device))
        sums = type(total)(result)
        sums._pattern = (torch.cat(rows).unique(),)
        return sums

    def _compressed(self, key: Any, total: nd.NDArray) -> nd.NDArray:
        """The sum of what the processes send of compressed gradients: two bits for each number."""
        assert self._compression is not None
        codes = self._compression.codes(key, total.tensor)
        if self._group.size > 1:
            parts = self._group.all_gather(packed(codes))
            codes = torch.stack([unpacked(part, codes.numel()) for part in parts]).sum(0).view(codes.shape)
        return nd.NDArray(codes.to(total.tensor.dtype) * self._compression.threshold)

    def _apply(self, key: Any, total: nd.NDArray) -> None:
        stored = self._stored(key)
        if self._updater is None:
            self._values[key] = total
            return
        target = stored
        if self._is_half(key):
            if key not in self._masters:
                self._masters[key] = stored.astype("float32")
            target = self._masters[key]
        self._updater(key, total, target)
        if self._draws and self._group.size > 1:
            self._group.broadcast(target.tensor)
        if target is not stored:
            _overwrite(stored, target.astype("float16"))

    # ---- optimizers --------------------------------------------------------------------------------------------------

    def set_optimizer(self, optimizer: opt.Optimizer) -> None:
        """Has a copy of `optimizer` (Optimizer) update the stored values, from the next push on."""
        self._pickled = pickle.dumps(optimizer, 0)
        self._given += 1

    def _set_updater(self, updater: Any) -> NoReturn:
        raise MXNetError("KVStore._set_updater: a store of several processes takes an Optimizer, by set_optimizer")

    def _send_command_to_servers(self, head: int, body: Any) -> None:
        """Sends the optimizer, pickled, for `head` 0; MXNetError for others: there are no servers."""
        if head != 0:
            raise MXNetError(f"KVStore._send_command_to_servers: there are no servers that know the command {head}")
        self._pickled = body if isinstance(body, bytes) else str(body).encode("ascii")
        self._given += 1

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> NoReturn:
        """AssertionError, as in MXNet: the states belong to the store."""
        raise AssertionError("Cannot save states for distributed training")

    def load_optimizer_states(self, fname: str) -> NoReturn:
        """AssertionError, as in MXNet: the states belong to the store."""
        raise AssertionError("Cannot load states for distributed training")
