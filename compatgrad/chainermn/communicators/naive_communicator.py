"""The communicator `naive`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class NaiveCommunicator(MpiCommunicatorBase):
    """A communicator that exchanges each gradient separately. In one process there is nothing to exchange.

    Args:
        mpi_comm: mpi4py's communicator of one process, or an object with its `size` and `Split`.

    Raises:
        RuntimeError: `mpi_comm` has several processes.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> type(comm).__name__, comm.gather_obj("a")
        ('NaiveCommunicator', ['a'])

    Source: `chainermn.communicators.naive_communicator.NaiveCommunicator` of Chainer 7.8.1.
    """
