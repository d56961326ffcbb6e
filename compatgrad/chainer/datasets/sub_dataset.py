"""Parts of a dataset."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from compatgrad.chainer.dataset import dataset_mixin


class SubDataset(dataset_mixin.DatasetMixin):
    """A range of a dataset.

    Args:
        dataset: the dataset.
        start, finish: the range; `finish` is exclusive.
        order: permutation of the dataset's indices, of which the range is taken; None keeps the dataset's order.

    Raises:
        ValueError: the range lies outside the dataset, or `order` has another length.

    Example:
        >>> chainer.datasets.SubDataset([10, 11, 12, 13], 1, 3)[:]
        [11, 12]

    Source: `chainer.datasets.SubDataset` of Chainer 7.8.1.
    """

    def __init__(self, dataset: Sequence[Any], start: int, finish: int, order: Sequence[int] | None = None) -> None:
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

    def get_example(self, i: int) -> Any:
        """The i-th example of the range; a negative `i` counts from its end. Raises IndexError outside the range."""
        if not -self._size <= i < self._size:
            raise IndexError(f"dataset index out of range: {i} of {self._size}")
        index = i + (self._start if i >= 0 else self._finish)
        return self._dataset[index if self._order is None else self._order[index]]


def _random_order(dataset, seed):
    return np.random.RandomState(seed).permutation(len(dataset))


def split_dataset(
    dataset: Sequence[Any], split_at: int, order: Sequence[int] | None = None
) -> tuple[SubDataset, SubDataset]:
    """Splits a dataset in two.

    Args:
        dataset: the dataset.
        split_at: number of examples of the first part.
        order: indices of the dataset in the order in which it is split; None keeps the dataset's.

    Returns:
        Both parts.

    Raises:
        TypeError: `split_at` is no integer.
        ValueError: `split_at` is negative or larger than the dataset, or `order` has another length.

    Example:
        >>> first, second = chainer.datasets.split_dataset([10, 11, 12], 1)
        >>> first[:], second[:]
        ([10], [11, 12])

    Source: `chainer.datasets.split_dataset` of Chainer 7.8.1.
    """
    if not isinstance(split_at, numbers.Integral):
        raise TypeError(f"split_at must be int, got {type(split_at)} instead")
    if split_at < 0:
        raise ValueError(f"split_at must be non-negative. Actual: {split_at}")
    if split_at > len(dataset):
        raise ValueError(f"split_at exceeds the dataset size. Actual: {split_at} of {len(dataset)}")
    return SubDataset(dataset, 0, split_at, order), SubDataset(dataset, split_at, len(dataset), order)


def split_dataset_random(
    dataset: Sequence[Any], first_size: int, seed: int | None = None
) -> tuple[SubDataset, SubDataset]:
    """Splits a dataset in two at random.

    Args:
        dataset: the dataset.
        first_size: number of examples of the first part.
        seed: seed of the permutation; None gives a different one each time.

    Returns:
        Both parts.

    Raises:
        TypeError: `first_size` is no integer.
        ValueError: `first_size` is negative or larger than the dataset.

    Example:
        >>> first, second = chainer.datasets.split_dataset_random([10, 11, 12], 1, seed=0)
        >>> first[:], second[:]
        ([12], [11, 10])

    Source: `chainer.datasets.split_dataset_random` of Chainer 7.8.1.
    """
    return split_dataset(dataset, first_size, _random_order(dataset, seed))


def split_dataset_n(dataset: Sequence[Any], n: int, order: Sequence[int] | None = None) -> list[SubDataset]:
    """Splits a dataset into parts of one size; examples that are left at its end belong to no part.

    Args:
        dataset: the dataset.
        n: number of parts; each has `len(dataset) // n` examples.
        order: indices of the dataset in the order in which it is split; None keeps the dataset's.

    Returns:
        The parts.

    Raises:
        ValueError: `order` has another length.
        ZeroDivisionError: `n` is 0.

    Example:
        >>> [part[:] for part in chainer.datasets.split_dataset_n([10, 11, 12, 13, 14], 2)]
        [[10, 11], [12, 13]]

    Source: `chainer.datasets.split_dataset_n` of Chainer 7.8.1.
    """
    size = len(dataset) // n
    return [SubDataset(dataset, size * i, size * (i + 1), order) for i in range(n)]


def split_dataset_n_random(dataset: Sequence[Any], n: int, seed: int | None = None) -> list[SubDataset]:
    """Splits a dataset at random into parts of one size; examples that are left at the end belong to no part.

    Args:
        dataset: the dataset.
        n: number of parts; each has `len(dataset) // n` examples.
        seed: seed of the permutation; None gives a different one each time.

    Returns:
        The parts.

    Raises:
        ZeroDivisionError: `n` is 0.

    Example:
        >>> [part[:] for part in chainer.datasets.split_dataset_n_random([10, 11, 12, 13, 14], 2, seed=0)]
        [[12, 10], [11, 13]]

    Source: `chainer.datasets.split_dataset_n_random` of Chainer 7.8.1.
    """
    return split_dataset_n(dataset, n, _random_order(dataset, seed))


def _get_n_folds(n_folds, kwargs):
    if "n_fold" in kwargs:
        warnings.warn("Argument `n_fold` is deprecated. Please use `n_folds` instead", DeprecationWarning, stacklevel=3)
        return kwargs["n_fold"]
    return n_folds


def get_cross_validation_datasets(
    dataset: Sequence[Any], n_folds: int | None = None, order: Sequence[int] | None = None, **kwargs: Any
) -> list[tuple[SubDataset, SubDataset]]:
    """Makes pairs of a training and a test set for cross validation. The test sets together are the dataset; their
    sizes differ by at most one.

    Args:
        dataset: the dataset.
        n_folds: number of pairs.
        order: indices of the dataset in the order in which it is split; None keeps the dataset's.
        **kwargs: `n_fold`: deprecated name of `n_folds`, with a DeprecationWarning.

    Returns:
        The pairs of training and test set.

    Raises:
        TypeError: the number of pairs is missing.
        ValueError: `order` has another length.
        ZeroDivisionError: the number of pairs is 0.

    Example:
        >>> [test[:] for train, test in chainer.datasets.get_cross_validation_datasets([10, 11, 12], 3)]
        [[12], [11], [10]]

    Source: `chainer.datasets.get_cross_validation_datasets` of Chainer 7.8.1.
    """
    n_folds = _get_n_folds(n_folds, kwargs)
    order = np.arange(len(dataset)) if order is None else np.array(order)
    borders = [len(dataset) * i // n_folds for i in range(n_folds + 1)]
    splits = []
    for i in reversed(range(n_folds)):
        test_size = borders[i + 1] - borders[i]
        splits.append(split_dataset(dataset, len(dataset) - test_size, order))
        # The test set is the last part of `order`. Moving it to the front makes the part before it the next test set.
        order = np.roll(order, test_size)
    return splits


def get_cross_validation_datasets_random(
    dataset: Sequence[Any], n_folds: int, seed: int | None = None, **kwargs: Any
) -> list[tuple[SubDataset, SubDataset]]:
    """Makes pairs of a training and a test set for cross validation, at random. The test sets together are the dataset;
    their sizes differ by at most one.

    Args:
        dataset: the dataset.
        n_folds: number of pairs.
        seed: seed of the permutation; None gives a different one each time.
        **kwargs: `n_fold`: deprecated name of `n_folds`, with a DeprecationWarning.

    Returns:
        The pairs of training and test set.

    Raises:
        TypeError: the number of pairs is no number.

    Example:
        >>> folds = chainer.datasets.get_cross_validation_datasets_random([10, 11, 12], 3, seed=0)
        >>> [test[:] for train, test in folds]
        [[10], [11], [12]]

    Source: `chainer.datasets.get_cross_validation_datasets_random` of Chainer 7.8.1.
    """
    n_folds = _get_n_folds(n_folds, kwargs)
    return get_cross_validation_datasets(dataset, n_folds, _random_order(dataset, seed))
