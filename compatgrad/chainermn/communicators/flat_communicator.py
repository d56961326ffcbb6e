"""The communicator `flat`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class FlatCommunicator(MpiCommunicatorBase):
    """A communicator that exchanges all gradients in float32.

    Args:
        mpi_comm: mpi4py's communicator, or the one that stands in for it.

    Raises:
        RuntimeError: `mpi_comm` has several processes, and no launcher has started this one.

    Example:
        >>> comm = chainermn.create_communicator("flat")
        >>> type(comm).__name__, comm.gather_obj("a")
        ('FlatCommunicator', ['a'])

    Source: `chainermn.communicators.flat_communicator.FlatCommunicator` of Chainer 7.8.1.
    """
