"""Start and end of Horovod, and who this process is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from compatgrad.core import distributed
from compatgrad.core.distributed import Group

#: operations of `allreduce`
Average, Sum, Adasum, Min, Max, Product = 0, 1, 2, 3, 4, 5

_group: Group | None = None


def group() -> Group:
    """The group of all processes.

    Returns:
        The group.

    Raises:
        ValueError: `init` was not called.

    Example:
        >>> from compatgrad.horovod.common.basics import group
        >>> hvd.init()
        >>> group().size
        1

    Source: `compatgrad/horovod/common/basics.py`.
    """
    if _group is None:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    return _group


def _start(comm: Sequence[int] | None = None) -> bool:
    """Connects the processes, or those whose ranks are in `comm`. Returns whether this call did. ValueError if `comm`
    is no list of ranks, or this process is not in it."""
    global _group
    if _group is not None:
        return False
    world = distributed.world()
    if comm is None or (hasattr(comm, "Get_size") and comm.Get_size() == world.size):
        _group = world
        return True
    if not isinstance(comm, (list, tuple, range)):
        raise ValueError(f"hvd.init: comm must be a list of ranks, or a communicator of all processes, got {comm!r}")
    if len(comm) == 0 or list(comm) == list(range(world.size)):
        _group = world
        return True
    part = world.subgroup(list(comm))
    if part is None:
        raise ValueError(f"hvd.init: process {world.rank} is not in comm {list(comm)}, and cannot use Horovod")
    _group = part
    return True


def _stop() -> None:
    """Undoes `_start`."""
    global _group
    _group = None


def is_initialized() -> bool:
    """Whether `init` was called.

    Returns:
        False again after `shutdown`.

    Example:
        >>> hvd.init()
        >>> hvd.is_initialized()
        True

    Source: `horovod.mxnet.is_initialized` of Horovod 0.28.1.
    """
    return _group is not None


_NUMBERS = {
    "size": ("size", "The number of processes", "1"),
    "rank": ("rank", "This process's number, from 0", "0"),
    "local_size": ("local_size", "The number of processes on this host", "1"),
    "local_rank": ("local_rank", "This process's number on its host, from 0", "0"),
    "cross_size": ("nodes", "The number of hosts", "1"),
    "cross_rank": ("node_rank", "The number of this host, from 0", "0"),
}


def _numbered(name: str) -> Any:
    attribute, what, example = _NUMBERS[name]

    def number() -> int:
        return int(getattr(group(), attribute))

    number.__name__ = number.__qualname__ = name
    number.__doc__ = f"""{what}.

    Returns:
        The number.

    Raises:
        ValueError: `init` was not called.

    Example:
        >>> hvd.init()
        >>> hvd.{name}()
        {example}

    Source: `horovod.mxnet.{name}` of Horovod 0.28.1.
    """
    return number


size, rank, local_size, local_rank, cross_size, cross_rank = map(_numbered, _NUMBERS)


def nccl_built() -> int:
    """The version of NCCL, with which arrays on GPUs are sent.

    Returns:
        A number such as 21805 for 2.18.5; 0 where there is no GPU.

    Example:
        >>> import torch
        >>> (hvd.nccl_built() > 0) == torch.cuda.is_available()
        True

    Source: `horovod.mxnet.nccl_built` of Horovod 0.28.1.
    """
    if not torch.cuda.is_available():
        return 0
    major, minor, patch = torch.cuda.nccl.version()
    return int(major * 10000 + minor * 100 + patch)


_ANSWERS = {
    "mpi_threads_supported": ("MPI is used by several threads", False),
    "mpi_enabled": ("MPI carries messages", False),
    "mpi_built": ("MPI can carry messages", False),
    "gloo_enabled": ("Gloo carries messages", True),
    "gloo_built": ("Gloo can carry messages", True),
    "ddl_built": ("IBM's DDL can carry messages", False),
    "ccl_built": ("oneCCL can carry messages", False),
    "rocm_built": ("GPUs are AMD's", False),
}


def _answering(name: str) -> Any:
    what, value = _ANSWERS[name]

    def answer(verbose: bool = False) -> bool:
        return value

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = f"""Whether {what}.

    Args:
        verbose: has no effect.

    Returns:
        {value}.

    Raises:
        TypeError: there are more arguments.

    Example:
        >>> hvd.{name}()
        {value}

    Source: `horovod.mxnet.{name}` of Horovod 0.28.1.
    """
    return answer


mpi_threads_supported, mpi_enabled, mpi_built, gloo_enabled, gloo_built, ddl_built, ccl_built, rocm_built = map(
    _answering, _ANSWERS
)


def cuda_built(verbose: bool = False) -> bool:
    """Whether there is a GPU.

    Args:
        verbose: has no effect.

    Returns:
        True if there is one.

    Raises:
        TypeError: there are more arguments.

    Example:
        >>> import torch
        >>> hvd.cuda_built() == torch.cuda.is_available()
        True

    Source: `horovod.mxnet.cuda_built` of Horovod 0.28.1.
    """
    return torch.cuda.is_available()
