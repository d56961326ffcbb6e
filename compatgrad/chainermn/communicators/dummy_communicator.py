"""The communicator `dummy`."""

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class DummyCommunicator(MpiCommunicatorBase):
    """A communicator that leaves gradients as they are, for measurements of what their exchange costs.

    Args:
        mpi_comm: mpi4py's communicator, or the one that stands in for it.

    Raises:
        RuntimeError: `mpi_comm` has several processes, and no launcher has started this one.

    Example:
        >>> comm = chainermn.create_communicator("dummy")
        >>> type(comm).__name__, comm.gather_obj("a")
        ('DummyCommunicator', ['a'])

    Source: `chainermn.communicators.dummy_communicator.DummyCommunicator` of Chainer 7.8.1.
    """

    _is_dummy = True
