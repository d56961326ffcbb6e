"""An iterator that distributes the batches of one process to all processes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.dataset import Iterator
from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.iterators._wrapper import IteratorWrapper

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def _is_valid_type(element):
    parts = element if isinstance(element, tuple) and len(element) == 2 else (element,)
    return all(hasattr(part, "dtype") for part in parts)


_REFUSED = "Multi node iterator supports ndarray or tuple of scalars as the data type of the batch element only."
# what the other processes know about the master's iterator
_STATE = ("current_position", "epoch", "is_new_epoch")


def _build_ctrl_msg(stop, is_valid_data_type, is_paired_dataset, is_new_epoch, current_position):
    """The message that precedes a batch, as an array."""
    return numpy.array([stop, is_valid_data_type, is_paired_dataset, is_new_epoch, current_position], numpy.float32)


def _parse_ctrl_msg(msg):
    """The parts of `_build_ctrl_msg`."""
    return *map(bool, msg[:4]), int(msg[4])


class _MultiNodeIteratorMaster(IteratorWrapper):
    """The iterator of the master, which reads the batches and sends them to the other processes."""

    def __init__(self, actual_iterator, communicator, rank_master):
        super().__init__(actual_iterator, communicator)
        object.__setattr__(self, "rank_master", rank_master)
        order = actual_iterator._state.order
        self._send(len(actual_iterator.dataset), None if order is None else numpy.array(order))

    def _send(self, *values):
        self.communicator.bcast_obj(values, root=self.rank_master)

    def __next__(self):
        try:
            batch = self.actual_iterator.__next__()
        except StopIteration:
            self._send("stop", self._state_values(), None)
            raise
        if not _is_valid_type(batch[0]):
            self._send("refused", self._state_values(), None)
            raise TypeError(_REFUSED)
        if isinstance(batch, list) and isinstance(batch[0], tuple):
            xs, ys = zip(*batch, strict=True)
            self._send("pairs", self._state_values(), [numpy.asarray(v, numpy.float32) for v in (xs, ys)])
            return batch
        array = numpy.asarray(batch)
        self._send("array", self._state_values(), array)
        return array.tolist()

    def _state_values(self):
        return {name: getattr(self.actual_iterator, name) for name in _STATE}

    def serialize(self, serializer):
        """Reads or writes the state, which the other processes get. All processes must call it at the same time."""
        self.actual_iterator.serialize(serializer)
        self._send(self._state_values())


class _MultiNodeIteratorSlave(Iterator):
    """The iterator of another process than the master, from which it gets its batches."""

    def __init__(self, communicator, rank_master):
        super().__init__()
        self.communicator, self.rank_master = communicator, rank_master
        self.epoch, self.current_position, self.is_new_epoch = 0, 0, False
        self.dataset_size, self._order = self._receive()

    def _receive(self):
        return self.communicator.bcast_obj(None, root=self.rank_master)

    def __next__(self):
        kind, state, batch = self._receive()
        self.__dict__.update(state)
        if kind == "stop":
            raise StopIteration
        if kind == "refused":
            raise TypeError(_REFUSED)
        if kind == "pairs":
            return list(zip(batch[0], batch[1].astype(numpy.int32), strict=True))
        return batch.tolist()

    @property
    def epoch_detail(self):
        """The epoch, with the part of the current one that is over."""
        return self.epoch + self.current_position / self.dataset_size

    def serialize(self, serializer):
        """Takes over the master's state, and reads or writes it."""
        (state,) = self._receive()
        for name, value in state.items():
            setattr(self, name, serializer(name, value))
        with contextlib.suppress(KeyError):
            self._order = serializer("order", self._order)


def create_multi_node_iterator(
    actual_iterator: Iterator, communicator: CommunicatorBase, rank_master: int = 0
) -> Iterator:
    """An iterator that distributes the batches of one process's iterator to all processes.

    Args:
        actual_iterator: the iterator of the master; the other processes' is not used. Its examples are arrays, NumPy
            numbers, or pairs of those.
        communicator: the communicator.
        rank_master: rank of the master.

    Returns:
        An iterator. In the master it has the attributes of `actual_iterator`. Unless examples are pairs, batches are
        lists of Python numbers; in other processes than the master, pairs are of float32 and int32.

    Raises:
        RuntimeError: there is no process `rank_master`.
        TypeError: a batch has examples of another type.

    Example:
        >>> data = chainer.iterators.SerialIterator(np.array([1.0, 2.0, 3.0]), 2, shuffle=False)
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.iterators.create_multi_node_iterator(data, comm).next()
        [1.0, 2.0]

    Source: `chainermn.iterators.create_multi_node_iterator` of Chainer 7.8.1.
    """
    experimental("chainermn.iterators.create_multi_node_iterator")
    if not 0 <= rank_master < communicator.size:
        raise RuntimeError(
            f"chainermn.iterators.create_multi_node_iterator: there is no rank {rank_master} in a communicator of size "
            f"{communicator.size}"
        )
    if communicator.rank == rank_master:
        return _MultiNodeIteratorMaster(actual_iterator, communicator, rank_master)
    return _MultiNodeIteratorSlave(communicator, rank_master)
