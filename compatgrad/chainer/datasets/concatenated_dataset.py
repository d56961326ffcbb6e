"""Several datasets one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.chainer.dataset import dataset_mixin


class ConcatenatedDataset(dataset_mixin.DatasetMixin):
    """Several datasets one after the other.

    Args:
        *datasets: the datasets.

    Example:
        >>> chainer.datasets.ConcatenatedDataset([1, 2], [3])[:]
        [1, 2, 3]

    Source: `chainer.datasets.ConcatenatedDataset` of Chainer 7.8.1.
    """

    def __init__(self, *datasets: Sequence[Any]) -> None:
        self._datasets = datasets

    def __len__(self):
        return sum(map(len, self._datasets))

    def get_example(self, i: int) -> Any:
        """The example of the dataset in which index `i` lies. Raises IndexError for an index out of range."""
        if i >= 0:
            for dataset in self._datasets:
                length = len(dataset)
                if i < length:
                    return dataset[i]
                i -= length
        raise IndexError("dataset index out of range")
