"""The interface of dataset iterators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer


class Iterator:
    """Base class of iterators over datasets: `__next__` returns a batch, a list of examples. Iterators have the
    attributes `batch_size`, `epoch` (number of completed sweeps), `epoch_detail` (the same with a fraction),
    `previous_epoch_detail` (the `epoch_detail` before the last batch, initially None) and `is_new_epoch` (whether the
    last batch completed a sweep).

    Example:
        >>> class Once(chainer.dataset.Iterator):
        ...     def __init__(self, dataset):
        ...         self.rest = list(dataset)
        ...     def __next__(self):
        ...         if not self.rest:
        ...             raise StopIteration
        ...         return [self.rest.pop(0)]
        >>> list(Once([1, 2]))
        [[1], [2]]

    Source: `chainer.dataset.Iterator` of Chainer 7.8.1.
    """

    def __del__(self):
        self.finalize()

    def __iter__(self):
        return self

    def __next__(self):
        raise NotImplementedError

    def next(self) -> list[Any]:
        """The same as ``__next__``."""
        return self.__next__()

    def finalize(self) -> None:
        """Release threads and processes; may be called twice."""

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.finalize()

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load what changes while iterating."""
