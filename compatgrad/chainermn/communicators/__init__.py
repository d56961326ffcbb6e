"""Communicators: the groups of processes that programs exchange gradients in."""

import importlib
import warnings

from compatgrad.chainer.utils import argument
from compatgrad.chainermn.communicators import _one_process
from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase  # noqa: F401

_CLASSES = {
    "naive": "NaiveCommunicator",
    "flat": "FlatCommunicator",
    "non_cuda_aware": "NonCudaAwareCommunicator",
    "pure_nccl": "PureNcclCommunicator",
    "dummy": "DummyCommunicator",
}
_OLD = ("hierarchical", "two_dimensional", "single_node")


def create_communicator(communicator_name="pure_nccl", mpi_comm=None, **kwargs):
    """The communicator of that name, of this process alone, on any device.

    Names of ChainerMN before 7 (`hierarchical`, `two_dimensional`, `single_node`) give `pure_nccl`, with a
    DeprecationWarning. `mpi_comm`: mpi4py's communicator of one process. Keywords: `allreduce_grad_dtype` (with
    `pure_nccl` only, else ValueError), `batched_copy`. RuntimeError where a launcher started several processes, or
    `mpi_comm` has several; ValueError for another name, TypeError for another keyword.
    """
    dtype, batched_copy = argument.parse_kwargs(kwargs, ("allreduce_grad_dtype", None), ("batched_copy", True))
    if communicator_name in _OLD:
        warnings.warn(
            f"communicator {communicator_name!r} is gone since Chainer 7; 'pure_nccl' is used", DeprecationWarning,
            stacklevel=2,
        )  # fmt: skip
        communicator_name = "pure_nccl"
    if communicator_name != "pure_nccl" and dtype is not None:
        raise ValueError("allreduce_grad_dtype is only available at 'pure_nccl' communicator.")
    if communicator_name not in _CLASSES:
        raise ValueError(f'Unrecognized communicator: "{communicator_name}"')
    if mpi_comm is None:
        _one_process.check_alone("chainermn.create_communicator")
        mpi_comm = _one_process.OneProcess()
    module = importlib.import_module(f"{__name__}.{communicator_name}_communicator")
    comm = getattr(module, _CLASSES[communicator_name])(mpi_comm=mpi_comm)
    if communicator_name == "pure_nccl":
        comm.set_config("allreduce_grad_dtype", dtype)
    comm.set_config("batched_copy", batched_copy)
    return comm
