"""The communicator `flat`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class FlatCommunicator(MpiCommunicatorBase):
    """All gradients as one array. In one process there is nothing to exchange."""
