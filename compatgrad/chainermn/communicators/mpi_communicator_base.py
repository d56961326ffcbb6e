"""Base class of the communicators: a group of one process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainermn.communicators import _one_process
from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase

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


class MpiCommunicatorBase(CommunicatorBase):
    """A communicator over `mpi_comm`, which has one process: the base class of all communicators.

    `send` and `recv` have no partner: they raise ValueError for rank 0, which is this process, and RuntimeError for any
    other rank. Arrays that are exchanged are int32, int64, float16, float32 or float64. Raises TypeError for other
    dtypes.

    Args:
        mpi_comm: mpi4py's communicator of one process, or an object with its `size` and `Split`.

    Raises:
        RuntimeError: `mpi_comm` has several processes.

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

    def __init__(self, mpi_comm: Any) -> None:
        super().__init__()
        self.mpi_comm = mpi_comm
        if self.mpi_comm.size != 1:
            raise RuntimeError(
                f"{type(self).__name__}: mpi_comm has {self.mpi_comm.size} processes, and communication between "
                "processes is not supported"
            )
        with self.config_scope():
            self.batched_copy = False

    rank = property(lambda self: 0, doc=CommunicatorBase.rank.__doc__)
    size = property(lambda self: 1, doc=CommunicatorBase.size.__doc__)
    intra_rank = property(lambda self: 0, doc=CommunicatorBase.intra_rank.__doc__)
    intra_size = property(lambda self: 1, doc=CommunicatorBase.intra_size.__doc__)
    inter_rank = property(lambda self: 0, doc=CommunicatorBase.inter_rank.__doc__)
    inter_size = property(lambda self: 1, doc=CommunicatorBase.inter_size.__doc__)

    def set_config(self, name: str, value: Any = True, **kwargs: Any) -> None:
        """Sets `batched_copy`. Raises ValueError for another name."""
        if name != "batched_copy":
            return super().set_config(name, **kwargs)
        with self.config_scope():
            self.batched_copy = value

    def split(self, color: int, key: int) -> MpiCommunicatorBase:
        return type(self)(mpi_comm=self.mpi_comm.Split(color, key))

    # ---- arrays ------------------------------------------------------------------------------------------------------

    def _check_root(self, who, root):
        _one_process.check_rank(f"{type(self).__name__}.{who}", root)

    def _no_partner(self, who, rank):
        _one_process._no_partner(f"{type(self).__name__}.{who}", rank)

    def alltoall(self, xs: tuple[Array, ...]) -> tuple[Array, ...]:
        if not isinstance(xs, (list, tuple)) or len(xs) != 1:
            raise ValueError("The length of data must be same as communicator size.")
        _check_message("alltoall", xs)
        return (xs[0].copy(),)

    def send(self, data: Array | tuple[Array, ...], dest: int, tag: int) -> None:
        _check_message("send", data)
        self._no_partner("send", dest)

    def recv(self, source: int, tag: int) -> Any:
        self._no_partner("recv", source)

    def bcast(self, x: Array, root: int = 0) -> Array:
        self._check_root("bcast", root)
        if _check_message("bcast", x):
            raise TypeError("Tuple data cannot be broadcasted")
        return x

    def gather(self, x: Array, root: int = 0) -> tuple[Array, ...]:
        self._check_root("gather", root)
        if _check_message("gather", x):
            raise TypeError("gather cannot handle tuple data")
        return (x.copy(),)

    def allgather(self, x: Array) -> tuple[Array, ...]:
        if _check_message("allgather", x):
            raise TypeError("allgather cannot handle tuple data")
        return (x.copy(),)

    def allreduce(self, x: Array) -> Array:
        if _check_message("allreduce", x):
            raise TypeError("allreduce cannot handle tuple data")
        return x.copy()

    def scatter(self, xs: Array | tuple[Array, ...], root: int = 0) -> Array:
        self._check_root("scatter", root)
        _check_message("scatter", xs)
        if len(xs) != 1:
            what = "the first axis of the array" if _is_array(xs) else "the tuple"
            raise ValueError(f"the length of {what} must be the communicator's size, 1, not {len(xs)}")
        return xs[0].copy()

    # ---- objects -----------------------------------------------------------------------------------------------------

    def send_obj(self, obj: Any, dest: int, tag: int = 0) -> None:
        self._no_partner("send_obj", dest)

    def recv_obj(self, source: int, status: Any = None, tag: int = -1) -> Any:
        self._no_partner("recv_obj", source)

    def bcast_obj(self, obj: Any, max_buf_len: int = 256 * 1024 * 1024, root: int = 0) -> Any:
        if obj is None or not 0 < max_buf_len < 2**31 - 1:
            raise AssertionError(
                f"bcast_obj: the root must give an object, and 0 < max_buf_len < 2**31 - 1: {max_buf_len}"
            )
        self._check_root("bcast_obj", root)
        return obj

    def gather_obj(self, obj: Any, root: int = 0) -> list[Any] | None:
        self._check_root("gather_obj", root)
        return [obj]

    def allreduce_obj(self, obj: Any) -> Any:
        return obj

    # ---- models ------------------------------------------------------------------------------------------------------

    def bcast_data(self, model: Link) -> None:
        """Does nothing, because this process is the first one."""

    def multi_node_mean_grad(self, model: Link, zero_fill: bool = False) -> None:
        for _, param in sorted(model.namedparams()):
            if param.array is None:
                continue
            if param.grad is None and zero_fill:
                param.grad = param.device.xp.zeros_like(param.array)
            if param.grad is not None:
                self._multi_node_mean(None, param.grad)

    def _multi_node_mean(self, sendbuf, recvbuf):
        """Writes the mean over all processes of `sendbuf` (None: `recvbuf`) to `recvbuf`. In debug mode, raises
        ValueError if a number is not finite.
        """
        if sendbuf is not None:
            recvbuf[...] = sendbuf
        if chainer.is_debug() and not chainer.backend.get_array_module(recvbuf).isfinite(recvbuf).all():
            raise ValueError("Parameters diverged after allreduce.")
