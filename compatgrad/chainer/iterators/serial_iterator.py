"""The plain iterator."""

from compatgrad.chainer.iterators import _statemachine


class SerialIterator(_statemachine.StateIterator):
    """Iterator that reads examples one after the other.

    `repeat`: go on after an epoch. `shuffle`: permute the examples in each epoch, the default (None) unless
    there is an `order_sampler`, see `OrderSampler`.
    """

    def __init__(self, dataset, batch_size, repeat=True, shuffle=None, order_sampler=None):
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)
        self._shuffle = shuffle
        self.reset()

    def __next__(self):
        self._previous_epoch_detail = self.epoch_detail
        self._state, indices = self._advance()
        if indices is None:
            raise StopIteration
        dataset = self.dataset
        return [dataset[index] for index in indices]

    next = __next__
