"""Communicators: collective operations on arrays of several processes, by `torch.distributed`.

Programs are started as `mpirun -n 4 python program.py` (Open MPI) or `torchrun --nproc-per-node 4
program.py`; started alone, a program is a group of one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from . import context as contexts
from .variable import CommunicatorBackwardCallback

if TYPE_CHECKING:
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


def _environment(*names, default=0):
    return next((int(os.environ[name]) for name in names if name in os.environ), default)


def _world_size():
    return _environment("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE", default=1)


def launched() -> bool:
    """Whether a launcher started this program, in one process or in several.

    Returns:
        bool: whether mpirun or torchrun has set its environment variables.

    Example:
        >>> import os
        >>> os.environ["WORLD_SIZE"] = "1"
        >>> from compatgrad.nnabla.communicators import launched
        >>> launched()
        True
        >>> del os.environ["WORLD_SIZE"]

    Source: compatgrad's own.
    """
    return "OMPI_COMM_WORLD_SIZE" in os.environ or "WORLD_SIZE" in os.environ


def _arrays(data):
    return list(data) if isinstance(data, (list, tuple)) else [data]


class Communicator:
    """A group of processes that exchange arrays, by `torch.distributed`: the base class.

    Collectives take an NdArray or several, and write their results into these. `division` divides a sum by the number
    of processes; without `inplace` several arrays are sent as one message. `group` is the name of a group made by
    `new_group`; processes outside the group do nothing. Raises RuntimeError if there is no such group, or before
    `init`.

    Args:
        ctx: the context of the arrays: NCCL sends the messages where it is that of a GPU, otherwise Gloo.

    Example:
        >>> from compatgrad.nnabla.communicators import MultiProcessDataParallelCommunicator
        >>> comm = MultiProcessDataParallelCommunicator(nn.Context(["cpu:float"], "CpuArray", "0"))
        >>> comm.init()
        >>> x = nn.NdArray.from_numpy_array(np.array([1.0, 2.0]))
        >>> comm.all_reduce([x])
        >>> comm.size, x.data
        (1, array([1., 2.]))

    Source: `nnabla.communicators.Communicator` of nnabla 1.39.0.
    """

    def __init__(self, ctx: Context) -> None:
        self._device = contexts.device_of(ctx)
        self._rank = _environment("OMPI_COMM_WORLD_RANK", "RANK")
        self._local_rank = _environment("OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK")
        self._size = _world_size()
        self._groups = {_WORLD: (list(range(self._size)), None)}
        self._registered = []

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
        """Connects the processes. It must be called before any collective operation."""
        if self._size > 1 and not dist.is_initialized():
            os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
            os.environ.setdefault("MASTER_PORT", "29511")
            # NCCL for arrays on GPUs, Gloo for those on the CPU
            backend = "cpu:gloo,cuda:nccl" if self._device.type == "cuda" else "gloo"
            if self._device.type == "cuda":
                torch.cuda.set_device(self._local_rank % torch.cuda.device_count())
            dist.init_process_group(backend, rank=self._rank, world_size=self._size)

    def barrier(self) -> None:
        """Waits until all processes have called it."""
        if self._size > 1:
            self._check_init("barrier")
            dist.barrier()

    def abort(self) -> None:
        """Ends the program at once."""
        os._exit(1)

    def new_group(self, name_ranks: tuple[str, Sequence[int]]) -> str:
        """Makes a group with a name and ranks, and returns the name. Every process must call it.

        Raises:
            RuntimeError: there is already a group of this name, or a rank is unknown.
        """
        name, ranks = name_ranks
        unknown = [rank for rank in ranks if not 0 <= rank < self._size]
        if name in self._groups or unknown:
            what = "exists already" if name in self._groups else f"has unknown ranks {unknown}"
            raise RuntimeError(f"new_group: group {name!r} {what}")
        self._groups[name] = (list(ranks), dist.new_group(list(ranks)) if self._size > 1 else None)
        return name

    def list_groups(self) -> dict[str, list[int]]:
        """A dict of the groups' ranks by name."""
        return {name: list(ranks) for name, (ranks, _) in self._groups.items()}

    def find_group(self, group: str) -> list[int]:
        """The ranks in `group`; [] where there is no such group."""
        return list(self._groups[group][0]) if group in self._groups else []

    def _check_init(self, name):
        if not dist.is_initialized():
            raise RuntimeError(f"{name}: call init() first")

    def _enter(self, name, group):
        # torch's group and its ranks; None where this process is not in the group
        if group not in self._groups:
            raise RuntimeError(f"{name}: there is no group {group!r}; there are {', '.join(self._groups)}")
        ranks, handle = self._groups[group]
        if self._rank not in ranks or len(ranks) == 1:
            return None
        self._check_init(name)
        return ranks, handle

    @staticmethod
    def _packed(arrays, inplace, collective):
        tensors = [array.tensor for array in arrays]
        same = len({(t.dtype, t.device) for t in tensors}) == 1
        if inplace or len(tensors) == 1 or not same:
            for tensor in tensors:
                contiguous = tensor.contiguous()
                collective(contiguous)
                if contiguous is not tensor:
                    tensor.copy_(contiguous)
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        collective(flat)
        for tensor, part in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(part.view(tensor.shape))

    def all_reduce(
        self, data: NdArray | Sequence[NdArray], division: bool = False, inplace: bool = False, group: str = _WORLD
    ) -> None:
        """Replaces each array by the sum of the arrays of all processes."""
        entered = self._enter("all_reduce", group)
        if entered:
            ranks, handle = entered

            def collective(tensor):
                dist.all_reduce(tensor, group=handle)
                if division:
                    tensor.div_(len(ranks))

            self._packed(_arrays(data), inplace, collective)

    def reduce(
        self,
        data: NdArray | Sequence[NdArray],
        dst: int,
        division: bool = False,
        inplace: bool = False,
        group: str = _WORLD,
    ) -> None:
        """Replaces each array of process `dst` by the sum of the arrays of all processes; those of the others stay."""
        entered = self._enter("reduce", group)
        if entered:
            ranks, handle = entered

            def collective(tensor):
                # torch uses the buffers of the other processes as scratch space
                total = tensor if self._rank == dst else tensor.clone()
                dist.reduce(total, dst, group=handle)
                if division and self._rank == dst:
                    tensor.div_(len(ranks))

            self._packed(_arrays(data), inplace, collective)

    def bcast(self, data: NdArray | Sequence[NdArray], src: int, inplace: bool = False, group: str = _WORLD) -> None:
        """Replaces each array by that of process `src`."""
        entered = self._enter("bcast", group)
        if entered:
            self._packed(_arrays(data), inplace, lambda tensor: dist.broadcast(tensor, src, group=entered[1]))

    def all_gather(self, ndarray: NdArray, ndarray_list: Sequence[NdArray], group: str = _WORLD) -> None:
        """Copies every process's `ndarray` into `ndarray_list`, in the order of the ranks."""
        entered = self._enter("all_gather", group)
        source = ndarray.read().contiguous()
        targets = [array.tensor for array in ndarray_list]
        if entered is None:
            if self._rank in self.find_group(group):
                targets[0].copy_(source)
            return
        parts = [torch.empty_like(source) for _ in targets]
        dist.all_gather(parts, source, group=entered[1])
        for target, part in zip(targets, parts, strict=True):
            target.copy_(part)

    def reduce_scatter(
        self, ndarray_list: Sequence[NdArray], ndarray: NdArray, division: bool = False, group: str = _WORLD
    ) -> None:
        """Sums each array of `ndarray_list` over the processes and writes sum i to `ndarray` in process i of the
        group."""
        entered = self._enter("reduce_scatter", group)
        if entered is None:
            if self._rank in self.find_group(group):
                ndarray.tensor.copy_(ndarray_list[0].read())
            return
        ranks, handle = entered
        for rank, array in zip(ranks, ndarray_list, strict=True):
            total = array.read().clone()
            dist.reduce(total, rank, group=handle)
            if rank == self._rank:
                ndarray.tensor.copy_(total / len(ranks) if division else total)

    def all_reduce_callback(
        self,
        data: NdArray | Sequence[NdArray],
        pack_size: int,
        division: bool = False,
        group: str = _WORLD,
        scale_grad: float = 1,
        keep_dtype: bool = False,
    ) -> CommunicatorBackwardCallback:
        """An object for `Variable.backward(communicator_callbacks=)` that all-reduces gradients when they are complete.

        Args:
            data: the arrays of the gradients.
            pack_size: largest number of elements of a message.
            division: whether sums are divided by the number of processes.
            group: the name of the group.
            scale_grad: factor by which gradients are multiplied first.
            keep_dtype: has no effect: arrays keep their dtypes.
        """
        return _AllReduceCallback(self, _arrays(data), pack_size, division, group, scale_grad)

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


class _AllReduceCallback(CommunicatorBackwardCallback):
    def __init__(self, communicator, arrays, pack_size, division, group, scale):
        self._call = communicator, division, group
        self._arrays = arrays
        self._pack_size = pack_size
        self._scale = scale

    def on_finish_function_backward(self, function):
        """Called after each function's backward."""

    def on_finish_backward(self):
        """Called at the end of backward, when the gradients of parameters that are used twice are complete."""
        communicator, division, group = self._call
        if self._scale != 1:
            for array in self._arrays:
                array.tensor.mul_(self._scale)
        pack, values = [], 0
        for array in self._arrays:
            pack.append(array)
            values += array.size
            if values >= self._pack_size:
                communicator.all_reduce(pack, division, False, group)
                pack, values = [], 0
        if pack:
            communicator.all_reduce(pack, division, False, group)


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
