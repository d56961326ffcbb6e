"""Orders in which an iterator visits the examples of an epoch."""

import numpy as np


class OrderSampler:
    """Base class of order samplers, called with the order of an epoch and the position reached in it.

    A call returns the order of the next epoch, an array of indices of the same length.
    """

    def __call__(self, current_order, current_position):
        raise NotImplementedError


class ShuffleOrderSampler(OrderSampler):
    """Random permutations from a `RandomState`, by default NumPy's global one."""

    def __init__(self, random_state=None):
        # `np.random.random` is a method of the global generator.
        self._random = np.random.random.__self__ if random_state is None else random_state

    def __call__(self, current_order, current_position):
        return self._random.permutation(len(current_order))
