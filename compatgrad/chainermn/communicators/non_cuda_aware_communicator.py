"""The communicator `non_cuda_aware`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class NonCudaAwareCommunicator(MpiCommunicatorBase):
    """Arrays by the machines' own memory. In one process there is nothing to exchange."""
