"""Communicators: collective operations on arrays of several processes.

Programs are started by `python -m compatgrad launch -n 4 program.py`, `mpirun -n 4 python program.py` or `torchrun
--nproc-per-node 4 program.py`; started alone, a program is a group of one.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from compatgrad.core import distributed

from . import context as contexts
from .variable import CommunicatorBackwardCallback

if TYPE_CHECKING:
    from compatgrad.core.distributed import Group
    from compatgrad.nnabla._nd_array import NdArray
    from compatgrad.nnabla.context import Context
    from compatgrad.nnabla.variable import Variable

__all__ = [
    "Communicator",
    "DataParallelCommunicator",
    "MultiProcessCommunicator",
    "MultiProcessDataParalellCommunicator",
    "MultiProcessDataParallelCommunicator",
]

_WORLD = "world"


def launched() -> bool:
    """Whether a launcher started this program, in one process or in several.

    Returns:
        bool: whether `compatgrad launch`, mpirun, torchrun or Slurm has set its environment variables.

    Example:
        >>> from compatgrad.nnabla.communicators import launched
        >>> launched()
        False

    Source: compatgrad's own.
    """
    return bool(distributed.detect().launcher)


def _arrays(data):
    return list(data) if isinstance(data, (list, tuple)) else [data]


class _Watchdog:
    """Warns where a call takes long because other processes do not come.

    nnabla's environment variables: NNABLA_MPI_WATCH_DOG_TIMEOUT is the number of seconds, and with
    NNABLA_MPI_WATCH_DOG_ENABLE=1 the call then fails, with an error that names the missing processes.
    """

    def __init__(self):
        self._ends = None
        self._seconds = 0.0
        self._changed = threading.Condition()
        self._thread = None

    @contextmanager
    def during(self, seconds: float) -> Iterator[None]:
        seconds = float(os.environ.get("NNABLA_MPI_WATCH_DOG_TIMEOUT") or seconds)
        with self._changed:
            self._seconds, self._ends = seconds, time.monotonic() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="compatgrad-watchdog", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            self._ends = None

    def _run(self):
        while True:
            time.sleep(min(0.5, self._seconds / 4))
            with self._changed:
                late = self._ends is not None and time.monotonic() > self._ends
                if late:
                    self._ends = None
            if late:
                print(f"WARNING: some node stop response for {self._seconds:.2f} seconds!", file=sys.stderr, flush=True)


_watchdog = _Watchdog()


def _shorten_deadline():
    """Lets calls fail after the time of nnabla's watchdog, where the program asks for it."""
    if os.environ.get("NNABLA_MPI_WATCH_DOG_ENABLE", "0") not in ("", "0"):
        os.environ.setdefault("COMPATGRAD_TIMEOUT", os.environ.get("NNABLA_MPI_WATCH_DOG_TIMEOUT") or "50")


class Communicator:
    """A group of processes that exchange arrays, by `torch.distributed`: the base class.

    Collectives take an NdArray or several, and write their results into these. They first cast the arrays, in place, to
    the type of the context: float32, or float16 for a context of "half". `division` divides a sum by the number of
    processes; without `inplace` several arrays are sent as one message. `group` is the name of a group made by
    `new_group`, and `src` and `dst` are places in the group's list of ranks. All processes of the group must call the
    same collectives in the same order. Raises RuntimeError in the methods if there is no such group, if this process is
    not in the group, and before `init`; DistributedError, which is a RuntimeError, if another process does not come.

    Args:
        ctx: the context of the arrays: NCCL sends the messages where it is that of a GPU, otherwise Gloo.

    Example:
        >>> from compatgrad.nnabla.communicators import MultiProcessDataParallelCommunicator
        >>> comm = MultiProcessDataParallelCommunicator(nn.Context(["cpu:float"], "CpuArray", "0"))
        >>> comm.init()
        >>> x = nn.NdArray.from_numpy_array(np.array([1.0, 2.0], np.float32))
        >>> comm.all_reduce([x])
        >>> comm.size, x.data
        (1, array([1., 2.], dtype=float32))

    Source: `nnabla.communicators.Communicator` of nnabla 1.39.0.
    """

    def __init__(self, ctx: Context) -> None:
        self._device = contexts.device_of(ctx)
        self._dtype = torch.float16 if contexts.is_half(ctx) else torch.float32
        launch = distributed.detect()
        self._rank, self._size, self._local_rank = launch.rank, launch.size, launch.local_rank or 0
        self._initialized = False
        self._groups: dict[str, tuple[list[int], Group | None]] = {_WORLD: (list(range(self._size)), None)}
        self._registered: list[tuple[Context, Mapping[str, Variable]]] = []

    # A communicator that a program copies with its model stays the same communicator.
    def __deepcopy__(self, memo: Any) -> Communicator:
        return self

    @property
    def name(self) -> str:
        """The communicator's name."""
        return type(self).__name__

    @property
    def size(self) -> int:
        """The number of processes."""
        return self._size

    @property
    def rank(self) -> int:
        """This process's number, from 0."""
        return self._rank

    @property
    def local_rank(self) -> int:
        """This process's number on its machine, from 0."""
        return self._local_rank

    def init(self) -> None:
        """Connects the processes. It must be called before any collective operation, by all processes.

        Raises:
            RuntimeError: it was called before, or the processes do not connect.
        """
        if self._initialized:
            raise RuntimeError("Communicator was already initialized.")
        self._connect()
        self._initialized = True

    def _connect(self):
        _shorten_deadline()
        with _watchdog.during(10):
            world = distributed.world()
            self._rank, self._size, self._local_rank = world.rank, world.size, world.local_rank
        if self._device.type == "cuda" and world.size > 1:
            torch.cuda.set_device(self._local_rank % torch.cuda.device_count())
        self._groups[_WORLD] = (list(range(world.size)), world)

    def _world(self, name):
        world = self._groups[_WORLD][1]
        if world is None:
            if self._size > 1:
                raise RuntimeError(f"{name}: call init() first")
            self._connect()
            world = self._groups[_WORLD][1]
        return world

    def barrier(self) -> None:
        """Waits until all processes have called it."""
        world = self._world("barrier")
        with _watchdog.during(50):
            world.barrier()

    def abort(self) -> None:
        """Ends the program at once."""
        os._exit(255)

    def new_group(self, name_ranks: tuple[str, Sequence[int]]) -> str:
        """Makes a group with a name and ranks, and returns the name. Every process must call it.

        Raises:
            RuntimeError: there is already a group of this name, or a rank is unknown.
        """
        name, ranks = name_ranks
        ranks = [int(rank) for rank in ranks]
        unknown = [rank for rank in ranks if not 0 <= rank < self._size]
        if name in self._groups or unknown:
            what = "exists already" if name in self._groups else f"has unknown ranks {unknown}"
            raise RuntimeError(f"new_group: group {name!r} {what}")
        self._groups[name] = (ranks, self._world("new_group").subgroup(ranks))
        return name

    def list_groups(self) -> dict[str, list[int]]:
        """A dict of the groups' ranks by name."""
        return {name: list(ranks) for name, (ranks, _) in self._groups.items()}

    def find_group(self, group: str) -> list[int]:
        """The ranks in `group`; [] where there is no such group."""
        return list(self._groups[group][0]) if group in self._groups else []

    def _enter(self, name, group):
        """The Group of this name, of which this process is a member."""
        if group not in self._groups:
            raise RuntimeError(f"{name}: there is no group {group!r}; there are {', '.join(self._groups)}")
        self._world(name)
        members = self._groups[group][1]
        if members is None:
            raise RuntimeError(f"{name}: self (rank={self._rank}) is not included in {group}.")
        return members

    @staticmethod
    def _check_place(name, argument, place, members):
        if not 0 <= place < members.size:
            raise RuntimeError(
                f"{name}: {argument} must be a place in the group, from 0 to {members.size - 1}, got {place}"
            )

    def _opened(self, array, keep_dtype=False):
        """The array's tensor, in the type of the communicator, for reading and writing."""
        if not keep_dtype and not (array._typed and array._dtype == self._dtype):
            array._set_dtype(self._dtype)
        return array.tensor

    def all_reduce(
        self, data: NdArray | Sequence[NdArray], division: bool = False, inplace: bool = False, group: str = _WORLD
    ) -> None:
        """Replaces each array by the sum of the arrays of all processes. An array on which all processes have called
        `zero()` and which none has written since stays so, and is not sent."""
        members = self._enter("all_reduce", group)
        arrays = _arrays(data)
        with _watchdog.during(50 if self._rank == 0 or len(arrays) == 1 else 250):
            taking_part = _agree(members, "all_reduce", arrays, [not array.zeroing for array in arrays])
            tensors = [self._opened(array) for array, part in zip(arrays, taking_part, strict=True) if part]
            if members.size == 1:
                return
            sums = distributed.Buckets(members, 1 / members.size if division else 1.0, "all_reduce")
            for some in [[t] for t in tensors] if inplace else [tensors]:
                sums.add(some, [self._dtype] * len(some))
            sums.finish()

    def reduce(
        self,
        data: NdArray | Sequence[NdArray],
        dst: int,
        division: bool = False,
        inplace: bool = False,
        group: str = _WORLD,
    ) -> None:
        """Replaces each array of the process `dst` by the sum of the arrays of all processes; those of the others keep
        their values."""
        members = self._enter("reduce", group)
        self._check_place("reduce", "dst", dst, members)
        tensors = self._checked("reduce", members, _arrays(data), dst)
        for flat, parts in _flat(tensors, inplace):
            members.reduce(flat, dst)
            if members.rank == dst:
                _take_apart(flat.mul_(1 / members.size) if division else flat, parts)

    def bcast(self, data: NdArray | Sequence[NdArray], src: int, inplace: bool = False, group: str = _WORLD) -> None:
        """Replaces each array by that of the process `src`."""
        members = self._enter("bcast", group)
        self._check_place("bcast", "src", src, members)
        tensors = self._checked("bcast", members, _arrays(data), src)
        for flat, parts in _flat(tensors, inplace):
            members.broadcast(flat, src)
            _take_apart(flat, parts)

    def _checked(self, name, members, arrays, root=0):
        """The arrays' tensors, if the other processes call the same with arrays of the same sizes."""
        tensors = [self._opened(array) for array in arrays]
        sizes = [array.size for array in arrays]
        words = lambda: f"{len(sizes)} arrays of {sizes[:20]} elements, root {root}"  # noqa: E731
        members.expect_same(name, words, len(sizes), sum(sizes), zlib.crc32(repr(sizes).encode()), root)
        return tensors

    def all_gather(self, ndarray: NdArray, ndarray_list: Sequence[NdArray], group: str = _WORLD) -> None:
        """Copies every process's `ndarray` into `ndarray_list`, in the order of the group."""
        members = self._enter("all_gather", group)
        if len(ndarray_list) != members.size:
            raise RuntimeError(f"all_gather: ndarray_list must have {members.size} arrays, got {len(ndarray_list)}")
        (source,) = self._checked("all_gather", members, [ndarray])
        for target, part in zip(ndarray_list, members.all_gather(source), strict=True):
            self._opened(target).copy_(part.view(target.shape))

    def reduce_scatter(
        self, ndarray_list: Sequence[NdArray], ndarray: NdArray, division: bool = False, group: str = _WORLD
    ) -> None:
        """Sums each array of `ndarray_list` over the processes and writes sum i to `ndarray` in process i of the
        group."""
        members = self._enter("reduce_scatter", group)
        if len(ndarray_list) != members.size:
            raise RuntimeError(f"reduce_scatter: ndarray_list must have {members.size} arrays, got {len(ndarray_list)}")
        tensors = self._checked("reduce_scatter", members, list(ndarray_list))
        target = self._opened(ndarray)
        for place, tensor in enumerate(tensors):
            total = tensor.clone(memory_format=torch.contiguous_format)
            members.reduce(total, place)
            if place == members.rank:
                target.copy_((total.mul_(1 / members.size) if division else total).view(target.shape))

    def all_reduce_callback(
        self,
        data: NdArray | Sequence[NdArray],
        pack_size: int,
        division: bool = False,
        group: str = _WORLD,
        scale_grad: float = 1,
        keep_dtype: bool = False,
    ) -> CommunicatorBackwardCallback:
        """An object for `Variable.backward(communicator_callbacks=)` that all-reduces gradients while backward goes on:
        each when the last function that adds to it has run. All processes must have the same graph.

        Args:
            data: the arrays of the gradients.
            pack_size: number of elements from which on gathered gradients are sent.
            division: whether sums are divided by the number of processes.
            group: the name of the group.
            scale_grad: factor by which gradients are multiplied before they are summed.
            keep_dtype: whether the arrays keep their dtypes; otherwise they are cast to the communicator's type.
        """
        return _AllReduceCallback(self, _arrays(data), pack_size, division, group, scale_grad, keep_dtype)

    def add_context_and_parameters(self, ctx_param_dict: tuple[Context, Mapping[str, Variable]]) -> None:
        """Registers (context, dict of parameters) for `allreduce`. Raises TypeError for anything else."""
        if not isinstance(ctx_param_dict, tuple) or len(ctx_param_dict) != 2:
            raise TypeError(
                f"add_context_and_parameters: ctx_param_dict must be a tuple of two elements, got {ctx_param_dict!r}"
            )
        self._registered.append(ctx_param_dict)

    def clear_context_parameters(self) -> None:
        """Removes the contexts and parameters that `add_context_and_parameters` registered."""
        self._registered.clear()

    def allreduce(self, division: bool = False, inplace: bool = False) -> None:
        """Deprecated; sums the gradients of the registered parameters over the processes."""
        for _, params in self._registered:
            self.all_reduce([param.grad for param in params.values()], division, inplace)


def _flat(tensors, inplace):
    """The messages for `tensors`: pairs of a contiguous tensor and the tensors whose elements it holds."""
    if inplace:
        return [(tensor.contiguous(), [tensor]) for tensor in tensors]
    return [(torch.cat([tensor.reshape(-1) for tensor in tensors]), tensors)] if tensors else []


def _take_apart(flat, tensors):
    """Writes the elements of `flat` into the tensors from which `_flat` took them."""
    for tensor, part in zip(tensors, flat.reshape(-1).split([t.numel() for t in tensors]), strict=True):
        if part.data_ptr() != tensor.data_ptr():
            tensor.copy_(part.view(tensor.shape))


_BITS, _NUMBERS = 62, 4  # of the flags in a header


def _agree(members, name, arrays, flags, order: Sequence[int] = ()) -> list[bool]:
    """Which arrays any process has flagged. Raises DistributedError if the processes pass different arrays."""
    if members.size == 1:
        return flags
    sizes = [array.size for array in arrays]
    code = zlib.crc32(repr((sizes, list(order))).encode())
    numbers = [0] * _NUMBERS
    for i, flag in enumerate(flags[: _BITS * _NUMBERS]):
        numbers[i // _BITS] |= int(flag) << i % _BITS
    rows = members.agree(name, len(sizes), code, *numbers)
    if any(row[:2] != (len(sizes), code) for row in rows):
        texts = members.all_gather_objects(f"{len(sizes)} arrays, of {sizes[:20]} elements, in the order {order[:20]}")
        listed = "; ".join(f"rank {rank}: {text}" for rank, text in enumerate(texts))
        raise distributed.DistributedError(f"{name}: the processes do not pass the same arrays: {listed[:2000]}")
    if len(flags) > _BITS * _NUMBERS:
        found = torch.tensor(flags, dtype=torch.uint8)
        members.all_reduce(found, "max")
        return [bool(flag) for flag in found.tolist()]
    return [any(row[2 + i // _BITS] >> i % _BITS & 1 for row in rows) for i in range(len(flags))]


class _AllReduceCallback(CommunicatorBackwardCallback):
    """Sends gradients in an order that the graph determines, so that it is the same in all processes."""

    def __init__(self, communicator, arrays, pack_size, division, group, scale, keep_dtype):
        self._communicator, self._group = communicator, communicator._enter("all_reduce_callback", group)
        self._arrays, self._pack_size, self._keep_dtype = arrays, pack_size, keep_dtype
        self._scale, self._factor = scale, 1 / self._group.size if division else 1.0
        self._sums = None

    def _begin(self, variable):
        """Called before backward of `variable`; None is no backward."""
        self._idle = self._group.size == 1
        if self._idle:
            return  # nothing is sent
        places = {array: i for i, array in enumerate(self._arrays)}
        # place of an array -> how many functions will add to it
        self._left: dict[int, int] = {}
        last: dict[int, int] = {}
        self._places = {}
        for k, function in enumerate(reversed(variable._functions() if variable is not None else [])):
            found = {places[x.grad] for x in function.inputs if x.need_grad and x.grad in places}
            if found:
                self._places[function] = found
            for i in found:
                self._left[i] = self._left.get(i, 0) + 1
                last[i] = k
        order = sorted(last, key=lambda i: (last[i], i))
        order += [i for i in range(len(self._arrays)) if i not in last]
        flags = [i in last or not array.zeroing for i, array in enumerate(self._arrays)]
        taking_part = _agree(self._group, "all_reduce_callback", self._arrays, flags, order)
        self._order = [i for i in order if taking_part[i]]
        self._next, self._pack, self._elements = 0, [], 0
        self._sums = distributed.Buckets(self._group, self._factor, "all_reduce_callback", before=self._scale)

    def on_finish_function_backward(self, function):
        """Called after each function's backward."""
        found = self._places.get(function) if self._sums is not None else None
        if found is None:
            return
        for i in found:
            self._left[i] -= 1
        while self._next < len(self._order) and self._left.get(self._order[self._next]) == 0:
            self._add()

    def _add(self):
        array = self._arrays[self._order[self._next]]
        self._next += 1
        self._pack.append(self._communicator._opened(array, self._keep_dtype))
        self._elements += array.size
        if self._elements >= self._pack_size:
            self._send()

    def _send(self):
        self._sums.add(self._pack, [self._communicator._dtype] * len(self._pack))
        self._pack, self._elements = [], 0

    def on_finish_backward(self):
        """Called at the end of backward: sends the rest and waits for all sums."""
        if self._group.size == 1:
            dtype = self._communicator._dtype
            if self._scale != 1 or any(array._dtype != dtype for array in self._arrays):
                written = [array for array in self._arrays if not array.zeroing]
                tensors = [self._communicator._opened(array, self._keep_dtype) for array in written]
                if self._scale != 1 and tensors:
                    torch._foreach_mul_(tensors, self._scale)
            return
        if self._sums is None:  # called by the program
            self._begin(None)
        while self._next < len(self._order):
            self._add()
        if self._pack:
            self._send()
        with _watchdog.during(250):
            self._sums.finish()
        self._sums = None


class MultiProcessDataParallelCommunicator(Communicator):
    """The communicator of the processes that a launcher started, or of this process alone.

    Args:
        ctx: the context of the arrays.

    Example:
        >>> from compatgrad.nnabla.communicators import MultiProcessDataParallelCommunicator
        >>> comm = MultiProcessDataParallelCommunicator(nn.Context(["cpu:float"], "CpuArray", "0"))
        >>> comm.init()
        >>> comm.rank, comm.list_groups()
        (0, {'world': [0]})

    Source: `nnabla.communicators.MultiProcessDataParallelCommunicator` of nnabla 1.39.0.
    """


class DataParallelCommunicator(Communicator):
    """The communicator of several devices of one process: `allreduce` adds up the registered gradients. It is
    deprecated.

    Gradients are summed over the contexts given to `add_context_and_parameters`, parameter by parameter.

    Args:
        ctx: the context of the process.

    Example:
        >>> from compatgrad.nnabla.communicators import DataParallelCommunicator
        >>> cpu = nn.Context(["cpu:float"], "CpuArray", "0")
        >>> comm = DataParallelCommunicator(cpu)
        >>> v, w = (nn.Variable.from_numpy_array(np.zeros(2), need_grad=True) for _ in range(2))
        >>> v.g, w.g = 1, 3
        >>> comm.add_context_and_parameters((cpu, {"w": v}))
        >>> comm.add_context_and_parameters((cpu, {"w": w}))
        >>> comm.allreduce()
        >>> v.g
        array([4., 4.], dtype=float32)

    Source: `nnabla.communicators.DataParallelCommunicator` of nnabla 1.39.0.
    """

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._rank = self._local_rank = 0
        self._size = 1
        self._groups = {_WORLD: ([0], None)}

    def _connect(self):
        self._groups[_WORLD] = ([0], distributed.Group([0], 0, None, None))

    def allreduce(self, division: bool = False, inplace: bool = False) -> None:
        """Replaces the gradients of all parameters with the same name by their sum, or with `division` by their
        mean."""
        for key in self._registered[0][1] if self._registered else ():
            grads = [params[key].grad.tensor for _, params in self._registered]
            total = sum(grad.to(grads[0].device) for grad in grads)
            if division:
                total = total / len(grads)
            for grad in grads:
                grad.copy_(total)


MultiProcessDataParalellCommunicator = MultiProcessCommunicator = MultiProcessDataParallelCommunicator
