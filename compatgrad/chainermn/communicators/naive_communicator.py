"""The communicator `naive`."""

import numpy

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class NaiveCommunicator(MpiCommunicatorBase):
    """A communicator that sums gradients in their own dtypes, float16 in float32.

    Args:
        mpi_comm: mpi4py's communicator, or the one that stands in for it.

    Raises:
        RuntimeError: `mpi_comm` has several processes, and no launcher has started this one.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> type(comm).__name__, comm.gather_obj("a")
        ('NaiveCommunicator', ['a'])

    Source: `chainermn.communicators.naive_communicator.NaiveCommunicator` of Chainer 7.8.1.
    """

    _divides_at_home = True

    def _grad_dtype(self, dtype):
        return numpy.dtype("float32") if dtype == numpy.float16 else dtype
