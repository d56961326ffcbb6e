"""A group of one process: the check that there are no others, and its MPI communicator."""

from __future__ import annotations

import os
import socket
from typing import Any

# Environment variables in which launchers store the number of processes.
_SIZES = (
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_STEP_NUM_TASKS",
)


def check_alone(who: str) -> None:
    """Raises RuntimeError if a launcher started several processes, each of which would otherwise train on its
    own."""
    for name in _SIZES:
        size = os.environ.get(name, "")
        if size.isdigit() and int(size) > 1:
            raise RuntimeError(
                f"{who}: this is one of {size} processes ({name}), and communication between processes is not "
                "supported. Start one process."
            )


def check_rank(who: str, rank: Any) -> None:
    """Raises RuntimeError unless `rank` is 0: there is no other process.

    Args:
        who: name of the caller, for the error.
        rank: the rank that the caller was given.

    Raises:
        RuntimeError: `rank` is not 0.

    Example:
        >>> chainermn.communicators._one_process.check_rank("bcast", 1)
        Traceback (most recent call last):
        RuntimeError: bcast: there is no rank 1. This process is alone, and communication between processes is not ...

    Source: compatgrad's own; in Chainer 7.8.1 MPI checks the rank.
    """
    if rank != 0:
        raise RuntimeError(
            f"{who}: there is no rank {rank}. This process is alone, and communication between processes is not "
            "supported."
        )


class OneProcess:
    """A replacement of mpi4py's COMM_WORLD for one process, with the attributes that programs read from
    `communicator.mpi_comm`."""

    rank = 0
    size = 1
    name = "MPI_COMM_WORLD"

    def Get_rank(self) -> int:
        return 0

    def Get_size(self) -> int:
        return 1

    def Get_name(self) -> str:
        return self.name

    def Get_processor_name(self) -> str:
        return socket.gethostname()

    def Split(self, color: int = 0, key: int = 0) -> OneProcess:
        return OneProcess()

    def Dup(self) -> OneProcess:
        return OneProcess()

    def barrier(self) -> None:
        """Returns: there is no other process to wait for."""

    Barrier = barrier

    def bcast(self, obj: Any, root: int = 0) -> Any:
        check_rank("mpi_comm.bcast", root)
        return obj

    def gather(self, obj: Any, root: int = 0) -> list[Any]:
        check_rank("mpi_comm.gather", root)
        return [obj]

    def allgather(self, obj: Any) -> list[Any]:
        return [obj]

    def alltoall(self, objs: Any) -> list[Any]:
        return list(self._one("alltoall", objs))

    def scatter(self, objs: Any, root: int = 0) -> Any:
        check_rank("mpi_comm.scatter", root)
        return self._one("scatter", objs)[0]

    def reduce(self, obj: Any, op: Any = None, root: int = 0) -> Any:
        check_rank("mpi_comm.reduce", root)
        return obj

    def allreduce(self, obj: Any, op: Any = None) -> Any:
        return obj

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        _no_partner("mpi_comm.send", dest)

    ssend = send

    def recv(self, buf: Any = None, source: int = -1, tag: int = -1, status: Any = None) -> None:
        _no_partner("mpi_comm.recv", source)

    def _one(self, name: str, objs: Any) -> Any:
        if len(objs) != 1:
            raise ValueError(f"mpi_comm.{name}: expected one object, as there is one process, got {len(objs)}")
        return objs


def _no_partner(who: str, rank: Any) -> None:
    """Raises ValueError if `rank` is this process, and RuntimeError for another rank."""
    check_rank(who, rank)
    raise ValueError(f"{who}: rank must be different from communicator rank, otherwise deadlock occurs")
