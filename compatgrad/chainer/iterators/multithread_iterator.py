"""The iterator that loads examples in threads."""

from multiprocessing import pool

from compatgrad.chainer.iterators import _statemachine


class MultithreadIterator(_statemachine.StateIterator):
    """Iterator whose `n_threads` threads read the next batch while the last one is used.

    The other arguments are those of `SerialIterator`.
    """

    _order_keys = ("_order", "order")

    def __init__(self, dataset, batch_size, repeat=True, shuffle=None, n_threads=1, order_sampler=None):
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)
        self._shuffle = shuffle
        self.n_threads = n_threads
        self._pool = None
        self.reset()

    def _set_state(self, state):
        self._state = state
        self._next = None  # the batch under way is that of the old state

    def finalize(self):
        pool = getattr(self, "_pool", None)
        self._next = None
        self._pool = None
        if pool is not None:
            pool.terminate()

    def __next__(self):
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

    def serialize(self, serializer):
        if self._state.order is None:
            # The original looks for the entry in any case.
            try:
                serializer(self._order_keys[0], None)
            except KeyError:
                pass
        super().serialize(serializer)
