"""The communicator `dummy`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class DummyCommunicator(MpiCommunicatorBase):
    """No communication, for measurements. In one process there is nothing to exchange."""
