"""Communicators: groups of processes that exchange gradients."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from compatgrad.chainer.utils import argument
from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase  # noqa: F401
from compatgrad.core import notes
from compatgrad.core.distributed.mpi import Communicator

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase

_CLASSES = {
    "naive": "NaiveCommunicator",
    "flat": "FlatCommunicator",
    "non_cuda_aware": "NonCudaAwareCommunicator",
    "pure_nccl": "PureNcclCommunicator",
    "dummy": "DummyCommunicator",
}
_OLD = ("hierarchical", "two_dimensional", "single_node")


def create_communicator(
    communicator_name: str = "pure_nccl", mpi_comm: Any = None, **kwargs: Any
) -> MpiCommunicatorBase:
    """Makes the communicator with this name, on any device. All processes must call it.

    A launcher says how many processes there are: `python -m compatgrad launch`, mpiexec, torchrun or srun; without one,
    the communicator has size 1.

    Args:
        communicator_name: "pure_nccl", "flat", "naive", "non_cuda_aware" or "dummy". "hierarchical", "two_dimensional"
            and "single_node", names that Chainer 7 removed, stand for "pure_nccl" and issue a DeprecationWarning.
        mpi_comm: mpi4py's communicator; None is that of all processes, and needs no mpi4py.
        **kwargs: `allreduce_grad_dtype`, a floating-point dtype or None, with "pure_nccl" only; `batched_copy`, True
            by default, which changes no result.

    Returns:
        The communicator.

    Raises:
        DistributedError: not all processes connect within the deadline.
        RuntimeError: `mpi_comm` has several processes, and no launcher has started this one.
        ValueError: the name is unknown, or `allreduce_grad_dtype` is given with another name than "pure_nccl".
        TypeError: another keyword.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> comm.size, comm.rank, comm.allreduce(np.array([1.0, 2.0])).tolist()
        (1, 0, [1.0, 2.0])

    Source: `chainermn.create_communicator` of Chainer 7.8.1.
    """
    dtype, batched_copy = argument.parse_kwargs(kwargs, ("allreduce_grad_dtype", None), ("batched_copy", True))
    if communicator_name in _OLD:
        notes.note_difference("communicator")
        warnings.warn(
            f"communicator {communicator_name!r} was removed in Chainer 7; 'pure_nccl' is used", DeprecationWarning,
            stacklevel=2,
        )  # fmt: skip
        communicator_name = "pure_nccl"
    if communicator_name != "pure_nccl" and dtype is not None:
        raise ValueError("allreduce_grad_dtype is only available at 'pure_nccl' communicator.")
    if communicator_name not in _CLASSES:
        raise ValueError(f'Unrecognized communicator: "{communicator_name}"')
    if mpi_comm is None:
        notes.note_difference("chainermn")
        mpi_comm = Communicator()
    module = importlib.import_module(f"{__name__}.{communicator_name}_communicator")
    comm = getattr(module, _CLASSES[communicator_name])(mpi_comm=mpi_comm)
    if communicator_name == "pure_nccl":
        comm.set_config("allreduce_grad_dtype", dtype)
    comm.set_config("batched_copy", batched_copy)
    return comm
