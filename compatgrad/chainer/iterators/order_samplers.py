"""Orders in which an iterator visits the examples of an epoch."""

from __future__ import annotations

import numpy as np


class OrderSampler:
    """Base class of order samplers, which tell an iterator the order of examples in each epoch. A subclass defines
    `__call__`; a plain function with the same arguments can be used instead.

    Example:
        >>> class Backwards(chainer.iterators.OrderSampler):
        ...     def __call__(self, current_order, current_position):
        ...         return current_order[::-1]
        >>> it = chainer.iterators.SerialIterator("abcd", 2, repeat=False, order_sampler=Backwards())
        >>> list(it)
        [['d', 'c'], ['b', 'a']]

    Source: `chainer.iterators.OrderSampler` of Chainer 7.8.1.
    """

    def __call__(self, current_order: np.ndarray, current_position: int) -> np.ndarray:
        """The order of the next epoch, an array of indices as long as `current_order`, that of this epoch, in which
        `current_position` examples have been read.
        """
        raise NotImplementedError


class ShuffleOrderSampler(OrderSampler):
    """Random permutations: each epoch reads every example once, in a new order.

    Args:
        random_state: random generator; None is NumPy's global generator, which `numpy.random.seed` sets.

    Example:
        >>> sampler = chainer.iterators.ShuffleOrderSampler(np.random.RandomState(0))
        >>> sampler(np.arange(5), 0)
        array([2, 0, 1, 3, 4])

    Source: `chainer.iterators.ShuffleOrderSampler` of Chainer 7.8.1.
    """

    def __init__(self, random_state: np.random.RandomState | None = None) -> None:
        # The global generator is the object that `np.random.random` is bound to.
        self._random = np.random.random.__self__ if random_state is None else random_state

    def __call__(self, current_order: np.ndarray, current_position: int) -> np.ndarray:
        """A permutation of as many indices as `current_order` has."""
        return self._random.permutation(len(current_order))
