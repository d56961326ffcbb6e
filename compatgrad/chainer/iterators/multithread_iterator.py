"""The iterator that loads examples in threads."""

from __future__ import annotations

from multiprocessing import pool
from typing import TYPE_CHECKING, Any

from compatgrad.chainer.iterators import _statemachine

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from compatgrad.chainer.serializer import AbstractSerializer


class MultithreadIterator(_statemachine.StateIterator):
    """Reads the examples of the next batch in threads while the last batch is used. It suits datasets whose reading
    waits for files or releases Python's global lock.

    Args:
        dataset: an object with a length that returns an example for each index.
        batch_size: number of examples in a batch.
        repeat: True continues with the next epoch; False raises StopIteration after one epoch.
        shuffle: True draws a new order of the examples for each epoch from NumPy's global random state; None is True
            unless there is an `order_sampler`.
        n_threads: number of threads.
        order_sampler: called with the order of an epoch, an array of indices, and the position reached in it, it
            returns that of the next epoch.

    Raises:
        ValueError: both `shuffle` and `order_sampler` are given.

    Example:
        >>> with chainer.iterators.MultithreadIterator([10, 20, 30], 2, repeat=False, shuffle=False, n_threads=2) as it:
        ...     list(it)
        [[10, 20], [30]]

    Source: `chainer.iterators.MultithreadIterator` of Chainer 7.8.1.
    """

    _order_keys = ("_order", "order")

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_threads: int = 1,
        order_sampler: Callable[[np.ndarray, int], np.ndarray] | None = None,
    ) -> None:
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)
        self._shuffle = shuffle
        self.n_threads = n_threads
        self._pool = None
        self.reset()

    def _set_state(self, state):
        self._state = state
        self._next = None  # drop the batch that was requested for the old state

    def finalize(self) -> None:
        """Ends the threads; the end of a `with` block and the garbage collector do so too."""
        pool = getattr(self, "_pool", None)
        self._next = None
        self._pool = None
        if pool is not None:
            pool.terminate()

    def __next__(self) -> list[Any]:
        """The next batch, a list of examples; StopIteration at the end, without `repeat`."""
        if self._next is None:
            self._invoke_prefetch()
        self._previous_epoch_detail = self.epoch_detail
        self._state, result = self._next_state, self._next
        self._next = None
        if result is None:
            raise StopIteration
        batch = result.get()
        self._invoke_prefetch()
        return batch

    next = __next__

    def _invoke_prefetch(self):
        self._next_state, indices = self._advance()
        if indices is not None:
            if self._pool is None:
                self._pool = pool.ThreadPool(self.n_threads)
            self._next = self._pool.map_async(self.dataset.__getitem__, indices)

    def serialize(self, serializer: AbstractSerializer) -> None:
        if self._state.order is None:
            # Chainer asks the serializer for this entry even without an order.
            try:
                serializer(self._order_keys[0], None)
            except KeyError:
                pass
        super().serialize(serializer)
