"""The communicator `non_cuda_aware`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class NonCudaAwareCommunicator(MpiCommunicatorBase):
    """A communicator that exchanges all gradients in float32.

    Args:
        mpi_comm: mpi4py's communicator, or the one that stands in for it.

    Raises:
        RuntimeError: `mpi_comm` has several processes, and no launcher has started this one.

    Example:
        >>> comm = chainermn.create_communicator("non_cuda_aware")
        >>> type(comm).__name__, comm.gather_obj("a")
        ('NonCudaAwareCommunicator', ['a'])

    Source: `chainermn.communicators.non_cuda_aware_communicator.NonCudaAwareCommunicator` of Chainer 7.8.1.
    """
