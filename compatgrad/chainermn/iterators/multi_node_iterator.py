"""An iterator that distributes the batches of one process to all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.communicators._one_process import check_rank
from compatgrad.chainermn.iterators._wrapper import IteratorWrapper

if TYPE_CHECKING:
    from compatgrad.chainer.dataset import Iterator
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def _is_valid_type(element):
    parts = element if isinstance(element, tuple) and len(element) == 2 else (element,)
    return all(hasattr(part, "dtype") for part in parts)


class _MultiNodeIteratorMaster(IteratorWrapper):
    """The iterator of the master, which reads the batches and returns them in the form in which the other processes
    receive them."""

    def __next__(self):
        batch = self.actual_iterator.__next__()
        if not _is_valid_type(batch[0]):
            raise TypeError(
                "Multi node iterator supports ndarray or tuple of scalars as the data type of the batch element only."
            )
        return batch if isinstance(batch[0], tuple) else numpy.asarray(batch).tolist()


def create_multi_node_iterator(
    actual_iterator: Iterator, communicator: CommunicatorBase, rank_master: int = 0
) -> IteratorWrapper:
    """An iterator that distributes the batches of one process's iterator to all processes.

    Args:
        actual_iterator: the iterator of the master. Its examples are arrays, NumPy numbers, or pairs of those.
        communicator: the communicator.
        rank_master: rank of the master.

    Returns:
        An iterator with the attributes of `actual_iterator`. Unless examples are pairs, batches are lists of Python
        numbers.

    Raises:
        RuntimeError: `rank_master` is not 0, and there is no other process.
        TypeError: a batch has examples of another type.

    Example:
        >>> data = chainer.iterators.SerialIterator(np.array([1.0, 2.0, 3.0]), 2, shuffle=False)
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.iterators.create_multi_node_iterator(data, comm).next()
        [1.0, 2.0]

    Source: `chainermn.iterators.create_multi_node_iterator` of Chainer 7.8.1.
    """
    experimental("chainermn.iterators.create_multi_node_iterator")
    check_rank("chainermn.iterators.create_multi_node_iterator", rank_master)
    return _MultiNodeIteratorMaster(actual_iterator, communicator)
