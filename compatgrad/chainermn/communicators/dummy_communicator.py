"""The communicator `dummy`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class DummyCommunicator(MpiCommunicatorBase):
    """A communicator that exchanges nothing, for measurements. In one process there is nothing to exchange.

    Args:
        mpi_comm: mpi4py's communicator of one process, or an object with its `size` and `Split`.

    Raises:
        RuntimeError: `mpi_comm` has several processes.

    Example:
        >>> comm = chainermn.create_communicator("dummy")
        >>> type(comm).__name__, comm.gather_obj("a")
        ('DummyCommunicator', ['a'])

    Source: `chainermn.communicators.dummy_communicator.DummyCommunicator` of Chainer 7.8.1.
    """
