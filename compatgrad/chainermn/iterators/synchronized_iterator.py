"""An iterator whose order is the same in all processes."""

import numpy

from compatgrad.chainer.iterators import ShuffleOrderSampler
from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.iterators._wrapper import IteratorWrapper


class _SynchronizedIterator(IteratorWrapper):
    def __init__(self, actual_iterator, communicator):
        if not hasattr(actual_iterator, "order_sampler"):
            raise ValueError("actual_iterator must have order_sampler")
        super().__init__(actual_iterator, communicator)
        seed = numpy.random.randint(0, 2**32 - 1, dtype=numpy.int64) if communicator.rank == 0 else None
        seed = communicator.bcast_obj(seed, root=0)
        actual_iterator.order_sampler = ShuffleOrderSampler(numpy.random.RandomState(seed))
        actual_iterator.reset()


def create_synchronized_iterator(actual_iterator, communicator):
    """`actual_iterator` with an order that is drawn alike in all processes. ValueError unless it has an order."""
    experimental("chainermn.iterators.create_synchronized_iterator")
    return _SynchronizedIterator(actual_iterator, communicator)
