"""Which process of a job this is: what launchers say in environment variables."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Launch", "detect"]


class Launch(NamedTuple):
    """What a launcher says about this process.

    Args:
        launcher: name of the launcher, "" if there is none.
        rank: number of the process, from 0.
        size: number of processes.
        local_rank: number of the process on its host; None if the launcher does not say it.
        local_size: number of processes on this host; None if the launcher does not say it.

    Example:
        >>> from compatgrad.core import distributed
        >>> distributed.Launch("torchrun", 1, 4, 1, 2).size
        4

    Source: `compatgrad/core/distributed/launching.py`.
    """

    launcher: str
    rank: int
    size: int
    local_rank: int | None = None
    local_size: int | None = None


# Launcher -> names of the variables with rank, size, local rank and local size, in the order of the search. Each
# launcher needs the first two. torch's come first: `compatgrad launch` sets Open MPI's as well, for programs that look
# for them.
_VARIABLES = (
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    (
        "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    ("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    (
        "MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
        "MV2_COMM_WORLD_LOCAL_SIZE",
    ),
    # srun sets the size of the step. SLURM_NTASKS alone is also set in a batch script, which is one process.
    ("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"),
    ("horovodrun", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE"),
)  # fmt: skip


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "").strip()
    return int(text) if re.fullmatch(r"[0-9]+", text) else None


def detect(environment: Mapping[str, str] | None = None) -> Launch:
    """Finds out from environment variables who started this process. The process connects to no other.

    The search is in this order: torchrun (`RANK`, `WORLD_SIZE`), Open MPI, MPICH and Intel MPI (`PMI_RANK`), MVAPICH2,
    Slurm's srun, horovodrun. A program that has initialized `torch.distributed` is found before these.

    Args:
        environment: the variables; None is `os.environ`, and then the state of `torch.distributed`, too.

    Returns:
        The launch: one of size 1, without a launcher's name, where there is none.

    Raises:
        RuntimeError: the rank is not below the number of processes.

    Example:
        >>> from compatgrad.core import distributed
        >>> distributed.detect({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"})
        Launch(launcher='Open MPI', rank=1, size=2, local_rank=None, local_size=None)
        >>> distributed.detect({}).size
        1

    Source: `compatgrad/core/distributed/launching.py`.
    """
    if environment is None:
        launch = _of_torch()
        if launch is not None:
            return launch
        environment = os.environ
    for launcher, *names in _VARIABLES:
        rank, size, local_rank, local_size = (_number(environment, name) for name in names)
        if rank is None or size is None:
            continue
        if rank >= size:
            raise RuntimeError(f"{names[0]} is {rank}, but {names[1]} says that there are {size} processes")
        return Launch(launcher, rank, size, local_rank, local_size)
    return Launch("", 0, 1, 0, 1)


def _of_torch() -> Launch | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    # the group's numbers count, even if variables say something else
    rank, size = distributed.get_rank(), distributed.get_world_size()
    local_rank, local_size = (_number(os.environ, name) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    return Launch("torch.distributed", rank, size, local_rank, local_size)
