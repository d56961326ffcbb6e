"""Base class of iterators that wrap another iterator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.dataset import Iterator

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


class IteratorWrapper(Iterator):
    """An iterator that reads and sets the attributes of the iterator that it wraps.

    Args:
        actual_iterator: the wrapped iterator.
        communicator: the communicator.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> iterator = chainermn.iterators.create_synchronized_iterator(
        ...     chainer.iterators.SerialIterator([10, 20], 2, shuffle=True), comm)
        >>> sorted(iterator.next()), iterator.epoch, iterator.batch_size
        ([10, 20], 1, 2)

    Source: the iterators that functions of `chainermn.iterators` of Chainer 7.8.1 make.
    """

    def __init__(self, actual_iterator: Iterator, communicator: CommunicatorBase) -> None:
        object.__setattr__(self, "actual_iterator", actual_iterator)
        object.__setattr__(self, "communicator", communicator)

    def __getattr__(self, name):
        if name == "actual_iterator":  # while it is copied or unpickled, `actual_iterator` is missing
            raise AttributeError(name)
        return getattr(self.actual_iterator, name)

    def __setattr__(self, name, value):
        setattr(self.actual_iterator, name, value)

    def __next__(self):
        return self.actual_iterator.__next__()

    def next(self) -> list[Any]:
        return self.__next__()

    def finalize(self) -> None:
        if "actual_iterator" in self.__dict__:  # else it was refused
            self.actual_iterator.finalize()

    def serialize(self, serializer: Any) -> None:
        self.actual_iterator.serialize(serializer)
