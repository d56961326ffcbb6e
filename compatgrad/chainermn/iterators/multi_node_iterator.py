"""An iterator whose batches all processes get."""

import numpy

from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.communicators._one_process import check_rank
from compatgrad.chainermn.iterators._wrapper import IteratorWrapper


def _is_valid_type(element):
    parts = element if isinstance(element, tuple) and len(element) == 2 else (element,)
    return all(hasattr(part, "dtype") for part in parts)


class _MultiNodeIteratorMaster(IteratorWrapper):
    """The master's: it draws, and gives its batches as the others get them."""

    def __next__(self):
        batch = self.actual_iterator.__next__()
        if not _is_valid_type(batch[0]):
            raise TypeError(
                "Multi node iterator supports ndarray or tuple of scalars as the data type of the batch element only."
            )
        return batch if isinstance(batch[0], tuple) else numpy.asarray(batch).tolist()


def create_multi_node_iterator(actual_iterator, communicator, rank_master=0):
    """An iterator that gives all processes the batches of `actual_iterator` of the process `rank_master`.

    Examples are arrays, numbers of NumPy, or pairs of those; TypeError for others. Batches of what is no pair are lists
    of Python's numbers.
    """
    experimental("chainermn.iterators.create_multi_node_iterator")
    check_rank("chainermn.iterators.create_multi_node_iterator", rank_master)
    return _MultiNodeIteratorMaster(actual_iterator, communicator)
