"""The communicator `non_cuda_aware`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class NonCudaAwareCommunicator(MpiCommunicatorBase):
    """A communicator that exchanges arrays through the memory of the CPU. In one process there is nothing to exchange.

    Args:
        mpi_comm: mpi4py's communicator of one process, or an object with its `size` and `Split`.

    Raises:
        RuntimeError: `mpi_comm` has several processes.

    Example:
        >>> comm = chainermn.create_communicator("non_cuda_aware")
        >>> type(comm).__name__, comm.gather_obj("a")
        ('NonCudaAwareCommunicator', ['a'])

    Source: `chainermn.communicators.non_cuda_aware_communicator.NonCudaAwareCommunicator` of Chainer 7.8.1.
    """
