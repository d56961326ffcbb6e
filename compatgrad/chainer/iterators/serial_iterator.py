"""The iterator that reads examples in the calling thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.iterators import _statemachine

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


class SerialIterator(_statemachine.StateIterator):
    """Reads examples one after the other, in the thread that asks for a batch. A batch is a list of examples; with
    `repeat`, a batch may contain examples of two epochs; without it, the last batch may be shorter.

    Args:
        dataset: an object with a length that returns an example for each index.
        batch_size: number of examples in a batch.
        repeat: True continues with the next epoch; False raises StopIteration after one epoch.
        shuffle: True draws a new order of the examples for each epoch from NumPy's global random state; None is True
            unless there is an `order_sampler`.
        order_sampler: called with the order of an epoch, an array of indices, and the position reached in it, it
            returns that of the next epoch.

    Raises:
        ValueError: both `shuffle` and `order_sampler` are given.

    Example:
        >>> it = chainer.iterators.SerialIterator([10, 20, 30], batch_size=2, shuffle=False)
        >>> it.next(), it.epoch, it.is_new_epoch
        ([10, 20], 0, False)
        >>> it.next(), it.epoch, it.is_new_epoch, it.epoch_detail
        ([30, 10], 1, True, 1.3333333333333333)

    Source: `chainer.iterators.SerialIterator` of Chainer 7.8.1.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        order_sampler: Callable[[np.ndarray, int], np.ndarray] | None = None,
    ) -> None:
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)
        self._shuffle = shuffle
        self.reset()

    def __next__(self) -> list[Any]:
        """The next batch, a list of examples; StopIteration at the end, without `repeat`."""
        self._previous_epoch_detail = self.epoch_detail
        self._state, indices = self._advance()
        if indices is None:
            raise StopIteration
        dataset = self.dataset
        return [dataset[index] for index in indices]

    next = __next__
