"""Parts of a dataset."""

import numbers
import warnings

import numpy as np

from compatgrad.chainer.dataset import dataset_mixin


class SubDataset(dataset_mixin.DatasetMixin):
    """Examples `start` to `finish` (exclusive) of a dataset, in the order given by the indices `order`.

    Raises ValueError where the range or `order` does not fit the dataset.
    """

    def __init__(self, dataset, start, finish, order=None):
        if start < 0 or finish > len(dataset):
            raise ValueError(f"subset overruns the base dataset. Actual: {start} to {finish} of {len(dataset)}")
        if order is not None and len(order) != len(dataset):
            raise ValueError(
                "order option must have the same length as the base dataset: "
                f"len(order) = {len(order)} while len(dataset) = {len(dataset)}"
            )
        self._dataset = dataset
        self._start = start
        self._finish = finish
        self._size = finish - start
        self._order = order

    def __len__(self):
        return self._size

    def get_example(self, i):
        if not -self._size <= i < self._size:
            raise IndexError(f"dataset index out of range: {i} of {self._size}")
        index = i + (self._start if i >= 0 else self._finish)
        return self._dataset[index if self._order is None else self._order[index]]


def _random_order(dataset, seed):
    return np.random.RandomState(seed).permutation(len(dataset))


def split_dataset(dataset, split_at, order=None):
    """Split a dataset, in the order given, into the examples before `split_at` and the rest.

    Raises TypeError where `split_at` is no integer, ValueError where it lies outside the dataset.
    """
    if not isinstance(split_at, numbers.Integral):
        raise TypeError(f"split_at must be int, got {type(split_at)} instead")
    if split_at < 0:
        raise ValueError(f"split_at must be non-negative. Actual: {split_at}")
    if split_at > len(dataset):
        raise ValueError(f"split_at exceeds the dataset size. Actual: {split_at} of {len(dataset)}")
    return SubDataset(dataset, 0, split_at, order), SubDataset(dataset, split_at, len(dataset), order)


def split_dataset_random(dataset, first_size, seed=None):
    """Split a dataset at random into `first_size` examples and the rest; `seed` of a generator of its own."""
    return split_dataset(dataset, first_size, _random_order(dataset, seed))


def split_dataset_n(dataset, n, order=None):
    """Split a dataset into a list of `n` parts of ``len(dataset) // n`` examples."""
    size = len(dataset) // n
    return [SubDataset(dataset, size * i, size * (i + 1), order) for i in range(n)]


def split_dataset_n_random(dataset, n, seed=None):
    """Split a dataset at random into a list of `n` parts of ``len(dataset) // n`` examples."""
    return split_dataset_n(dataset, n, _random_order(dataset, seed))


def _get_n_folds(n_folds, kwargs):
    if "n_fold" in kwargs:
        warnings.warn("Argument `n_fold` is deprecated. Please use `n_folds` instead", DeprecationWarning, stacklevel=3)
        return kwargs["n_fold"]
    return n_folds


def get_cross_validation_datasets(dataset, n_folds=None, order=None, **kwargs):
    """Make `n_folds` pairs of a training and a test set, whose test sets together are the dataset.

    The sizes of the test sets differ by at most one. ``n_fold`` is the deprecated name of `n_folds`.
    """
    n_folds = _get_n_folds(n_folds, kwargs)
    order = np.arange(len(dataset)) if order is None else np.array(order)
    borders = [len(dataset) * i // n_folds for i in range(n_folds + 1)]
    splits = []
    for i in reversed(range(n_folds)):
        test_size = borders[i + 1] - borders[i]
        splits.append(split_dataset(dataset, len(dataset) - test_size, order))
        # The test set is at the end: it goes to the front, and the one before it takes its place.
        order = np.roll(order, test_size)
    return splits


def get_cross_validation_datasets_random(dataset, n_folds, seed=None, **kwargs):
    """`get_cross_validation_datasets` in a random order; `seed` of a generator of its own."""
    n_folds = _get_n_folds(n_folds, kwargs)
    return get_cross_validation_datasets(dataset, n_folds, _random_order(dataset, seed))
