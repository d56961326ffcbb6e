"""Base class of the communicators: arrays, objects and gradients over a group of processes."""

from __future__ import annotations

import functools
import operator
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainermn.communicators import _gradients, _joining, _tensors
from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase
from compatgrad.core.distributed import ANY, Packet
from compatgrad.core.distributed.mpi import Communicator

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import Array
    from compatgrad.chainer.link import Link

_DTYPES = {numpy.dtype(t) for t in ("int32", "int64", "float16", "float32", "float64")}


def _is_array(x):
    return isinstance(x, chainer.get_array_types())


def _check_message(who, x):
    """Raises TypeError or ValueError unless `x` can be sent. Returns whether it is a tuple of arrays."""
    chainer.utils.experimental(f"chainermn.communicators.MpiCommunicatorBase.{who}")
    if _is_array(x):
        arrays = [x]
    elif isinstance(x, Iterable):
        arrays = list(x)
        if not all(_is_array(a) for a in arrays):
            raise ValueError(
                f"All message objects must be either numpy or cupy arrays. Actual: {[type(a).__name__ for a in arrays]}"
            )
        if len({a.dtype for a in arrays}) > 1:
            raise TypeError(f"Message objects must be the same dtype. Actual: {[str(a.dtype) for a in arrays]}")
    else:
        raise TypeError(f"Message object must be numpy/cupy array or its tuple. Actual: {type(x).__name__}")
    for a in arrays[:1]:
        if a.dtype not in _DTYPES:
            raise TypeError(f"{who} does not support dtype {a.dtype}")
    return not _is_array(x)


def _pack(x):
    """An array, or a tuple of arrays, as a packet, with their form and whether they are on a GPU."""
    arrays = [x] if _is_array(x) else list(x)
    tensors = [_tensors.to_tensor(a) for a in arrays]
    return Packet((not _is_array(x), any(t.is_cuda for t in tensors)), tensors)


def _unpack(packet):
    is_tuple, is_gpu = packet.obj
    arrays = tuple(_tensors.to_array(t, is_gpu) for t in packet.tensors)
    return arrays if is_tuple else arrays[0]


class MpiCommunicatorBase(CommunicatorBase):
    """A communicator over the processes of `mpi_comm`: the base class of all communicators.

    All processes must call the collective methods in the same order. A process that is missing makes them raise
    DistributedError, which names it, instead of waiting forever. Arrays that are exchanged are int32, int64, float16,
    float32 or float64; TypeError for others.

    Args:
        mpi_comm: mpi4py's communicator, or the one that stands in for it (`compatgrad.core.distributed.mpi`).

    Raises:
        RuntimeError: `mpi_comm` has several processes, and no launcher has started this one.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> x = np.array([[1.0], [2.0]])
        >>> comm.allgather(x)[0].tolist(), comm.scatter(x[:1]).tolist(), comm.bcast_obj("a")
        ([[1.0], [2.0]], [1.0], 'a')
        >>> comm.send(x, dest=0, tag=0)
        Traceback (most recent call last):
        ValueError: NaiveCommunicator.send: rank must be different from communicator rank, otherwise deadlock occurs

    Source: `chainermn.communicators.mpi_communicator_base.MpiCommunicatorBase` of Chainer 7.8.1.
    """

    # whether gradients are divided by the number of processes after they are back in their own dtypes
    _divides_at_home = False
    # whether gradients are left as they are
    _is_dummy = False

    def __init__(self, mpi_comm: Any) -> None:
        super().__init__()
        self.mpi_comm = mpi_comm
        self._group = _joining.group_of(mpi_comm)
        self._init_ranks()
        with self.config_scope():
            self.batched_copy = False

    def _init_ranks(self):
        group = self._group
        self._place = group.local_rank, group.local_size, group.node_rank, group.nodes

    def _init_comms(self):
        pass

    rank = property(lambda self: self._group.rank, doc=CommunicatorBase.rank.__doc__)
    size = property(lambda self: self._group.size, doc=CommunicatorBase.size.__doc__)
    intra_rank = property(lambda self: self._place[0], doc=CommunicatorBase.intra_rank.__doc__)
    intra_size = property(lambda self: self._place[1], doc=CommunicatorBase.intra_size.__doc__)
    inter_rank = property(lambda self: self._place[2], doc=CommunicatorBase.inter_rank.__doc__)
    inter_size = property(lambda self: self._place[3], doc=CommunicatorBase.inter_size.__doc__)

    def set_config(self, name: str, value: Any = True, **kwargs: Any) -> None:
        """Sets `batched_copy`. Raises ValueError for another name."""
        if name != "batched_copy":
            return super().set_config(name, **kwargs)
        with self.config_scope():
            self.batched_copy = value

    def split(self, color: int, key: int) -> MpiCommunicatorBase:
        if isinstance(self.mpi_comm, Communicator) or self.size == 1:
            return type(self)(mpi_comm=Communicator(self._group.split(color, key)))
        return type(self)(mpi_comm=self.mpi_comm.Split(color, key))

    def __deepcopy__(self, memo):
        return self  # a network that is copied communicates with the same processes

    # ---- arrays ------------------------------------------------------------------------------------------------------

    def _name(self, who):
        return f"{type(self).__name__}.{who}"

    def _check_rank(self, who, rank):
        if not 0 <= rank < self.size:
            alone = " This process is alone: no launcher has started others." if self.size == 1 else ""
            raise RuntimeError(
                f"{self._name(who)}: there is no rank {rank} in this communicator of size {self.size}.{alone}"
            )

    def _check_partner(self, who, rank):
        self._check_rank(who, rank)
        if rank == self.rank:
            raise ValueError(
                f"{self._name(who)}: rank must be different from communicator rank, otherwise deadlock occurs"
            )

    def alltoall(self, xs: tuple[Array, ...]) -> tuple[Array, ...]:
        if not isinstance(xs, (list, tuple)) or len(xs) != self.size:
            raise ValueError("The length of data must be same as communicator size.")
        _check_message("alltoall", xs)
        if self.size == 1:
            return (xs[0].copy(),)
        packets = self._group.all_to_all_packets(self._name("alltoall"), [_pack(x) for x in xs])
        return self._joined("alltoall", packets, xs[self.rank])

    def _joined(self, who, packets, own):
        """The arrays of packets from all processes, with a copy of this process's own."""
        arrays = tuple(own.copy() if rank == self.rank else _unpack(p) for rank, p in enumerate(packets))
        if len({a.dtype for a in arrays}) > 1:
            raise TypeError(f"{self._name(who)}: all dtypes must be the same, got {[str(a.dtype) for a in arrays]}")
        return arrays

    def send(self, data: Array | tuple[Array, ...], dest: int, tag: int) -> None:
        _check_message("send", data)
        self._check_partner("send", dest)
        self._group.send(_pack(data), dest, tag)

    def recv(self, source: int, tag: int) -> Any:
        chainer.utils.experimental("chainermn.communicators.MpiCommunicatorBase.recv")
        self._check_partner("recv", source)
        return _unpack(self._group.receive(source, tag).packet)

    def bcast(self, x: Array, root: int = 0) -> Array:
        self._check_rank("bcast", root)
        if self.rank != root:
            return _unpack(self._group.broadcast_packet(self._name("bcast"), None, root))
        if _check_message("bcast", x):
            raise TypeError("Tuple data cannot be broadcasted")
        self._group.broadcast_packet(self._name("bcast"), _pack(x), root)
        return x

    def gather(self, x: Array, root: int = 0) -> tuple[Array, ...] | None:
        self._check_rank("gather", root)
        if _check_message("gather", x):
            raise TypeError("gather cannot handle tuple data")
        packets = self._group.gather_packets(self._name("gather"), _pack(x), root)
        return None if packets is None else self._joined("gather", packets, x)

    def allgather(self, x: Array) -> tuple[Array, ...]:
        if _check_message("allgather", x):
            raise TypeError("allgather cannot handle tuple data")
        return self._joined("allgather", self._group.all_gather_packets(self._name("allgather"), _pack(x)), x)

    def allreduce(self, x: Array) -> Array:
        if _check_message("allreduce", x):
            raise TypeError("allreduce cannot handle tuple data")
        result = x.copy()
        if self.size > 1:
            form = zlib.crc32(f"{x.dtype} {x.shape}".encode())
            forms = self._group.agree(self._name("allreduce"), form)
            if len(set(forms)) > 1:
                texts = self._group._tell(f"{x.dtype} of shape {x.shape}")
                raise TypeError(f"{self._name('allreduce')}: the arrays differ, by rank: {'; '.join(texts)}")
            self._group.all_reduce(_tensors.to_tensor(result))
        return result

    def scatter(self, xs: Array | tuple[Array, ...], root: int = 0) -> Array:
        self._check_rank("scatter", root)
        packets = None
        if self.rank == root:
            _check_message("scatter", xs)
            if len(xs) != self.size:
                what = "the first axis of the array" if _is_array(xs) else "the tuple"
                raise ValueError(f"the length of {what} must be the communicator's size, {self.size}, not {len(xs)}")
            # an element of an array with one axis is no array
            xs = [x if _is_array(x) else numpy.asarray(x) for x in xs]
            packets = [_pack(x) for x in xs]
        packet = self._group.scatter_packets(self._name("scatter"), packets, root)
        return xs[root].copy() if self.rank == root else _unpack(packet)

    # ---- objects -----------------------------------------------------------------------------------------------------

    def send_obj(self, obj: Any, dest: int, tag: int = 0) -> None:
        self._check_partner("send_obj", dest)
        self._group.send(Packet(obj), dest, tag)

    def recv_obj(self, source: int, status: Any = None, tag: int = ANY) -> Any:
        if source != ANY:
            self._check_partner("recv_obj", source)
        message = self._group.receive(source, tag)
        if status is not None:
            status.source, status.tag = message.source, message.tag
        return message.packet.obj

    def bcast_obj(self, obj: Any, max_buf_len: int = 256 * 1024 * 1024, root: int = 0) -> Any:
        if (obj is None) == (self.rank == root) or not 0 < max_buf_len < 2**31 - 1:
            raise AssertionError(
                "bcast_obj: the root, and no other process, must give an object, and 0 < max_buf_len < 2**31 - 1: "
                f"{max_buf_len}"
            )
        self._check_rank("bcast_obj", root)
        packet = self._group.broadcast_packet(self._name("bcast_obj"), Packet(obj), root)
        return obj if self.rank == root else packet.obj

    def gather_obj(self, obj: Any, root: int = 0) -> list[Any] | None:
        self._check_rank("gather_obj", root)
        packets = self._group.gather_packets(self._name("gather_obj"), Packet(obj), root)
        return None if packets is None else [packet.obj for packet in packets]

    def allreduce_obj(self, obj: Any) -> Any:
        if self.size == 1:
            return obj
        packets = self._group.all_gather_packets(self._name("allreduce_obj"), Packet(obj))
        return functools.reduce(operator.add, [packet.obj for packet in packets])

    # ---- models ------------------------------------------------------------------------------------------------------

    def bcast_data(self, model: Link) -> None:
        _gradients.broadcast(self._group, model)

    def multi_node_mean_grad(self, model: Link, zero_fill: bool = False) -> None:
        _gradients.Means(self, model, zero_fill).complete().finish()

    def _grad_dtype(self, dtype):
        """The dtype in which gradients of this dtype travel, and in which they are divided."""
        return numpy.dtype("float32")

    def _multi_node_mean(self, sendbuf, recvbuf):
        """Writes the mean over all processes of `sendbuf` (None: `recvbuf`) to `recvbuf`. In debug mode, raises
        ValueError if a number is not finite.
        """
        if sendbuf is not None:
            recvbuf[...] = sendbuf
        _gradients.mean_of_arrays(self._group, [recvbuf], self._name("_multi_node_mean"))
        if chainer.is_debug():
            _gradients.check_finite([recvbuf])
