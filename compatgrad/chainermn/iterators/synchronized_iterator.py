"""An iterator whose order is the same in all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.iterators import ShuffleOrderSampler
from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.iterators._wrapper import IteratorWrapper

if TYPE_CHECKING:
    from compatgrad.chainer.dataset import Iterator
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


class _SynchronizedIterator(IteratorWrapper):
    def __init__(self, actual_iterator, communicator):
        if not hasattr(actual_iterator, "order_sampler"):
            raise ValueError("actual_iterator must have order_sampler")
        super().__init__(actual_iterator, communicator)
        seed = numpy.random.randint(0, 2**32 - 1, dtype=numpy.int64) if communicator.rank == 0 else None
        seed = communicator.bcast_obj(seed, root=0)
        actual_iterator.order_sampler = ShuffleOrderSampler(numpy.random.RandomState(seed))
        actual_iterator.reset()


def create_synchronized_iterator(actual_iterator: Iterator, communicator: CommunicatorBase) -> IteratorWrapper:
    """An iterator whose random order is the same in all processes.

    Args:
        actual_iterator: the iterator, whose attribute `order_sampler` is replaced by one with a seed that is drawn by
            NumPy.
        communicator: the communicator.

    Returns:
        An iterator with the attributes of `actual_iterator`.

    Raises:
        ValueError: `actual_iterator` has no `order_sampler`.

    Example:
        >>> data = chainer.iterators.SerialIterator([10, 20, 30], 3, shuffle=True)
        >>> comm = chainermn.create_communicator("naive")
        >>> sorted(chainermn.iterators.create_synchronized_iterator(data, comm).next())
        [10, 20, 30]

    Source: `chainermn.iterators.create_synchronized_iterator` of Chainer 7.8.1.
    """
    experimental("chainermn.iterators.create_synchronized_iterator")
    return _SynchronizedIterator(actual_iterator, communicator)
