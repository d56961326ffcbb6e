"""MPI's communicators as mpi4py has them, over a group of processes: what programs read from `communicator.mpi_comm`,
and `mpi4py.MPI` where mpi4py itself is absent or would see one process only.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from functools import reduce
from types import ModuleType
from typing import Any

import numpy
import torch

from compatgrad.core.distributed import launching
from compatgrad.core.distributed._messages import ANY, Packet
from compatgrad.core.distributed.group import Group, world

__all__ = ["Communicator", "Op", "Status", "make_module"]


class Op:
    """A reduction, as `MPI.SUM`: a function of two values.

    Args:
        name: its name.
        function: the function.

    Example:
        >>> from compatgrad.core.distributed.mpi import Op
        >>> Op("SUM", lambda a, b: a + b)(1, 2)
        3

    Source: `compatgrad/core/distributed/mpi.py`; in mpi4py, `MPI.Op`.
    """

    def __init__(self, name: str, function: Callable[[Any, Any], Any]) -> None:
        self.name, self._function = name, function

    def __call__(self, a: Any, b: Any) -> Any:
        return self._function(a, b)

    def __repr__(self) -> str:
        return f"<MPI.{self.name}>"


def _larger(a: Any, b: Any) -> Any:
    return numpy.maximum(a, b) if isinstance(a, numpy.ndarray) else max(a, b)


def _smaller(a: Any, b: Any) -> Any:
    return numpy.minimum(a, b) if isinstance(a, numpy.ndarray) else min(a, b)


_OPS = {
    op.name: op
    for op in (
        Op("SUM", lambda a, b: a + b), Op("PROD", lambda a, b: a * b), Op("MAX", _larger), Op("MIN", _smaller),
        Op("LAND", lambda a, b: bool(a) and bool(b)), Op("LOR", lambda a, b: bool(a) or bool(b)),
        Op("BAND", lambda a, b: a & b), Op("BOR", lambda a, b: a | b),
    )
}  # fmt: skip


class Status:
    """What a receiver learns of a message.

    Example:
        >>> from compatgrad.core.distributed.mpi import Status
        >>> Status().Get_tag()
        -1

    Source: `compatgrad/core/distributed/mpi.py`; in mpi4py, `MPI.Status`.
    """

    def __init__(self) -> None:
        self.source = self.tag = ANY

    def Get_source(self) -> int:
        """The sender's rank."""
        return self.source

    def Get_tag(self) -> int:
        """The tag."""
        return self.tag


class _Missing(NotImplementedError, AttributeError):
    """Says that a method is missing; `hasattr` understands it, too."""


class Communicator:
    """A communicator with the methods of mpi4py's that programs use: those for objects, and the upper-case ones for
    NumPy arrays. A method that is missing raises NotImplementedError with its name.

    Args:
        group: the processes; None connects those of the job, when they first communicate.

    Example:
        >>> from compatgrad.core.distributed.mpi import Communicator
        >>> comm = Communicator()
        >>> comm.rank, comm.Get_size(), comm.allgather("a"), comm.allreduce(2)
        (0, 1, ['a'], 2)

    Source: `compatgrad/core/distributed/mpi.py`; in mpi4py, `MPI.Intracomm`.
    """

    name = "MPI_COMM_WORLD"

    def __init__(self, group: Group | None = None) -> None:
        self._group = group

    @property
    def group(self) -> Group:
        """The processes, connected."""
        if self._group is None:
            self._group = world()
        return self._group

    @property
    def rank(self) -> int:
        """This process's number. To read it connects no processes."""
        return launching.detect().rank if self._group is None else self._group.rank

    @property
    def size(self) -> int:
        """The number of processes. To read it connects no processes."""
        return launching.detect().size if self._group is None else self._group.size

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _Missing(f"MPI.Comm.{name}: this communicator, which works without mpi4py, has no such method")

    def __deepcopy__(self, memo: Any) -> Communicator:
        return self

    def Get_rank(self) -> int:
        """This process's number."""
        return self.rank

    def Get_size(self) -> int:
        """The number of processes."""
        return self.size

    def Get_name(self) -> str:
        """The communicator's name."""
        return self.name

    def Get_processor_name(self) -> str:
        """The name of this host."""
        return socket.gethostname()

    def Split(self, color: int = 0, key: int = 0) -> Communicator:
        """The communicator of the processes with the same `color`, in the order of `key`."""
        return Communicator(self.group.split(color, key))

    def Dup(self) -> Communicator:
        """This communicator."""
        return self

    Clone = Dup

    def Free(self) -> None:
        """Returns: there is nothing to free."""

    def Abort(self, errorcode: int = 0) -> None:
        """Ends this process at once, whereupon the others fail."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(errorcode or 1)

    def barrier(self) -> None:
        """Returns when all processes have called it."""
        self.group.barrier()

    Barrier = barrier

    # ---- objects -----------------------------------------------------------------------------------------------------

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """The object of `root`."""
        packet = self.group.broadcast_packet("MPI.Comm.bcast", Packet(obj), root)
        assert packet is not None
        return packet.obj

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """The objects of all processes in `root`, None in the others."""
        packets = self.group.gather_packets("MPI.Comm.gather", Packet(sendobj), root)
        return None if packets is None else [packet.obj for packet in packets]

    def allgather(self, sendobj: Any) -> list[Any]:
        """The objects of all processes."""
        return [packet.obj for packet in self.group.all_gather_packets("MPI.Comm.allgather", Packet(sendobj))]

    def alltoall(self, sendobj: Any) -> list[Any]:
        """The objects that all processes have for this one."""
        packets = [Packet(obj) for obj in sendobj]
        return [packet.obj for packet in self.group.all_to_all_packets("MPI.Comm.alltoall", packets)]

    def scatter(self, sendobj: Any, root: int = 0) -> Any:
        """The object that `root` has for this process."""
        packets = None
        if self.rank == root:
            packets = [Packet(obj) for obj in sendobj]
            if len(packets) != self.size:
                raise ValueError(f"MPI.Comm.scatter: expected {self.size} objects, got {len(packets)}")
        return self.group.scatter_packets("MPI.Comm.scatter", packets, root).obj

    def reduce(self, sendobj: Any, op: Op = _OPS["SUM"], root: int = 0) -> Any:
        """The reduction of all objects, in the order of ranks, in `root`; None in the others."""
        every = self.gather(sendobj, root)
        return None if every is None else reduce(op, every)

    def allreduce(self, sendobj: Any, op: Op = _OPS["SUM"]) -> Any:
        """The reduction of all objects, in the order of ranks."""
        return reduce(op, self.allgather(sendobj))

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Sends an object to `dest`."""
        self.group.send(Packet(obj), dest, tag)

    ssend = bsend = send

    def recv(self, buf: Any = None, source: int = ANY, tag: int = ANY, status: Status | None = None) -> Any:
        """The object that `source` sent with this tag."""
        message = self.group.receive(source, tag)
        if status is not None:
            status.source, status.tag = message.source, message.tag
        return message.packet.obj

    # ---- arrays ------------------------------------------------------------------------------------------------------

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Writes the array of `root` into those of the others."""
        array = _array("Bcast", buf)
        tensor = torch.from_numpy(numpy.ascontiguousarray(array))
        packet = self.group.broadcast_packet("MPI.Comm.Bcast", Packet(None, [tensor]), root)
        if packet is not None and self.rank != root:
            _fill("Bcast", array, packet.tensors[0].numpy())

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = _OPS["SUM"]) -> None:
        """Writes the reduction of the arrays of all processes into `recvbuf`."""
        target = _array("Allreduce", recvbuf)
        source = target if sendbuf is IN_PLACE else _array("Allreduce", sendbuf)
        _fill("Allreduce", target, reduce(op, self.allgather(source)))

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Writes the arrays of all processes into `recvbuf`, one after the other."""
        parts = [part.reshape(-1) for part in self.allgather(_array("Allgather", sendbuf))]
        _fill("Allgather", _array("Allgather", recvbuf), numpy.concatenate(parts))

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Writes the arrays of all processes into `recvbuf` of `root`."""
        parts = self.gather(_array("Gather", sendbuf), root)
        if parts is not None:
            _fill("Gather", _array("Gather", recvbuf), numpy.concatenate([part.reshape(-1) for part in parts]))

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Sends an array to `dest`."""
        self.send(_array("Send", buf), dest, tag)

    def Recv(self, buf: Any, source: int = ANY, tag: int = ANY, status: Status | None = None) -> None:
        """Receives an array into `buf`."""
        _fill("Recv", _array("Recv", buf), self.recv(None, source, tag, status))


class _InPlace:
    def __repr__(self) -> str:
        return "<MPI.IN_PLACE>"


IN_PLACE = _InPlace()


def _array(who: str, buf: Any) -> numpy.ndarray[Any, Any]:
    if isinstance(buf, (list, tuple)) and buf:  # [array, MPI.FLOAT]
        buf = buf[0]
    if not isinstance(buf, numpy.ndarray):
        raise NotImplementedError(f"MPI.Comm.{who}: expected a NumPy array, got {type(buf).__name__}")
    return buf


def _fill(who: str, target: numpy.ndarray[Any, Any], value: Any) -> None:
    value = numpy.asarray(value)
    if value.size != target.size:
        raise ValueError(f"MPI.Comm.{who}: expected an array of {value.size} elements, got {target.size}")
    target[...] = value.reshape(target.shape)


def make_module() -> tuple[ModuleType, ModuleType]:
    """Makes the modules `mpi4py` and `mpi4py.MPI`, over the processes of the job.

    Returns:
        The two modules.

    Example:
        >>> from compatgrad.core.distributed.mpi import make_module
        >>> package, mpi = make_module()
        >>> mpi.COMM_WORLD.Get_size(), mpi.SUM
        (1, <MPI.SUM>)

    Source: `compatgrad/core/distributed/mpi.py`.
    """
    package = ModuleType("mpi4py", "mpi4py's MPI over torch.distributed, by compatgrad.")
    mpi = ModuleType("mpi4py.MPI", "MPI's communicators over torch.distributed, by compatgrad.")
    types = {t.char: t.name for t in map(numpy.dtype, ("b", "B", "h", "H", "i", "I", "l", "L", "f", "d"))}
    values: dict[str, Any] = {
        "ANY_SOURCE": ANY, "ANY_TAG": ANY, "IN_PLACE": IN_PLACE, "COMM_WORLD": Communicator(), "Status": Status,
        "Comm": Communicator, "Intracomm": Communicator, "Op": Op, "Get_processor_name": socket.gethostname,
        "Is_initialized": lambda: True, "Is_finalized": lambda: False, "Finalize": lambda: None, "Init": lambda: None,
        "Wtime": __import__("time").perf_counter, "Exception": RuntimeError, "_typedict": types,
        "INT": "int32", "LONG": "int64", "FLOAT": "float32", "DOUBLE": "float64", "BYTE": "uint8", "_compatgrad": True,
        **_OPS,
    }  # fmt: skip
    vars(mpi).update(values)

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"MPI.{name}: compatgrad's mpi4py, which stands in for the real one, has no such name")

    vars(mpi)["__getattr__"] = missing
    vars(package).update(MPI=mpi, __path__=[], __version__="4.0.0", rc=ModuleType("mpi4py.rc"))
    return package, mpi
