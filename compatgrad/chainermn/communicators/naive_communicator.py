"""The communicator `naive`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class NaiveCommunicator(MpiCommunicatorBase):
    """All gradients one by one. In one process there is nothing to exchange."""
