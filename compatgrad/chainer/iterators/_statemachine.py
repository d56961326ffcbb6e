"""The position of an iterator in its dataset, and the base class of the iterators."""

from typing import NamedTuple

import numpy as np

from compatgrad.chainer.dataset import iterator
from compatgrad.chainer.iterators.order_samplers import ShuffleOrderSampler


class IteratorState(NamedTuple):
    """`order`: indices of the epoch's examples, or None for their natural order."""

    current_position: int
    epoch: int
    is_new_epoch: bool
    order: np.ndarray | None


def iterator_statemachine(state, batch_size, repeat, order_sampler, dataset_len):
    """Advance by one batch: return the next state and the indices of the batch, which are None at the end.

    Raises ValueError for an empty dataset with `repeat`, and where `order_sampler` returns an order of another length.
    """
    position, epoch, _, order = state
    if not repeat and epoch > 0:
        return state, None
    size = dataset_len if order is None else len(order)
    if repeat and size == 0:
        raise ValueError("Epoch size must be positive for an iterator that repeats.")

    def take(start, stop):
        return np.arange(start, stop, dtype=np.intp) if order is None else order[start:stop]

    parts = []
    stop = position + batch_size
    is_new_epoch = False
    while stop >= size:
        parts.append(take(position, size))
        if order is not None:
            order = order_sampler(order, position)
            if len(order) != size:
                raise ValueError(
                    f"The size of order does not match the size of the previous order: {len(order)} != {size}"
                )
        epoch += 1
        is_new_epoch = True
        position = 0
        if not repeat:
            stop = 0
            break
        stop -= size
    parts.append(take(position, stop))
    return IteratorState(stop, epoch, is_new_epoch, order), np.concatenate(parts)


class StateIterator(iterator.Iterator):
    """Base class of iterators over indices. Raises ValueError if both `shuffle` and `order_sampler` are given."""

    # The name of the order in snapshots, and the name to try where a snapshot does not have the first.
    _order_keys = ("order", "_order")

    def __init__(self, dataset, batch_size, repeat, shuffle, order_sampler):
        self.dataset = dataset
        self.batch_size = batch_size
        self._repeat = repeat
        if shuffle is not None and order_sampler is not None:
            raise ValueError(
                "`shuffle` is not `None` and a custom `order_sampler` is set. "
                "Please set `shuffle` to `None` to use the custom order sampler."
            )
        if order_sampler is None and shuffle in (None, True):
            order_sampler = ShuffleOrderSampler()
        self.order_sampler = order_sampler

    @property
    def repeat(self):
        return self._repeat

    @property
    def current_position(self):
        return self._state.current_position

    @property
    def epoch(self):
        return self._state.epoch

    @property
    def is_new_epoch(self):
        return self._state.is_new_epoch

    @property
    def epoch_detail(self):
        size = self._epoch_size
        return self.epoch + self.current_position / size if size else float(self.epoch)

    @property
    def previous_epoch_detail(self):
        # The attribute and snapshots store -1 for None, which not all serializers support.
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    @property
    def _epoch_size(self):
        order = self._state.order
        return len(self.dataset) if order is None else len(order)

    def _advance(self):
        """The state after the next batch, and the indices of the batch or None."""
        return iterator_statemachine(self._state, self.batch_size, self._repeat, self.order_sampler, len(self.dataset))

    def reset(self):
        """Go back to the beginning, with a new order."""
        sampler = self.order_sampler
        self._set_state(IteratorState(0, 0, False, sampler and sampler(np.arange(len(self.dataset)), 0)))
        self._previous_epoch_detail = -1.0

    def _set_state(self, state):
        self._state = state

    def serialize(self, serializer):
        position = serializer("current_position", self.current_position)
        epoch = serializer("epoch", self.epoch)
        is_new_epoch = serializer("is_new_epoch", self.is_new_epoch)
        order = self._state.order
        if order is not None:
            # The serializer writes into the array, so it gets a copy: batches that are being read may still use the old
            # one.
            order = order.copy()
            try:
                serializer(self._order_keys[0], order)
            except KeyError:
                serializer(self._order_keys[1], order)
        self._set_state(IteratorState(position, epoch, is_new_epoch, order))
        try:
            previous = serializer("previous_epoch_detail", self._previous_epoch_detail)
        except KeyError:
            # A snapshot of Chainer 1 has no such entry; the last batch is assumed to have been full.
            previous = self.epoch_detail - self.batch_size / self._epoch_size
            previous = max(previous, 0.0) if self.epoch_detail > 0 else -1.0
        self._previous_epoch_detail = -1.0 if previous is None else previous
