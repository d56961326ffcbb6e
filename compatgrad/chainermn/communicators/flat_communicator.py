"""The communicator `flat`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class FlatCommunicator(MpiCommunicatorBase):
    """A communicator that exchanges all gradients as one array. In one process there is nothing to exchange.

    Args:
        mpi_comm: mpi4py's communicator of one process, or an object with its `size` and `Split`.

    Raises:
        RuntimeError: `mpi_comm` has several processes.

    Example:
        >>> comm = chainermn.create_communicator("flat")
        >>> type(comm).__name__, comm.gather_obj("a")
        ('FlatCommunicator', ['a'])

    Source: `chainermn.communicators.flat_communicator.FlatCommunicator` of Chainer 7.8.1.
    """
