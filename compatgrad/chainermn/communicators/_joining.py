"""The group of processes of an MPI communicator."""

from __future__ import annotations

from typing import Any

from compatgrad.core import distributed
from compatgrad.core.distributed.mpi import Communicator


def group_of(mpi_comm: Any) -> distributed.Group:
    """The processes of `mpi_comm`: mpi4py's communicator, or the one that stands in for it. All its processes must call
    this."""
    if isinstance(mpi_comm, Communicator):
        return mpi_comm.group
    rank, size = mpi_comm.rank, mpi_comm.size
    if size == 1:
        return distributed.Group([0], 0, None, None)
    world = distributed.world()
    if world.size == 1:
        raise RuntimeError(
            f"create_communicator: mpi_comm has {size} processes, and no launcher says that this process belongs to "
            "several: start the program by mpiexec, torchrun or `python -m compatgrad launch`"
        )
    ranks = mpi_comm.allgather(world.rank)
    return world if ranks == list(range(world.size)) and rank == world.rank else world._make(ranks)
