"""Several datasets side by side, as tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class TupleDataset:
    """Several datasets side by side: its examples are tuples of their examples.

    Args:
        *datasets: the datasets.

    Raises:
        ValueError: there is none, or they differ in length.

    Example:
        >>> data = chainer.datasets.TupleDataset([1, 2], [0, 1])
        >>> data[1], data[:1]
        ((2, 1), [(1, 0)])

    Source: `chainer.datasets.TupleDataset` of Chainer 7.8.1.
    """

    def __init__(self, *datasets: Sequence[Any]) -> None:
        if not datasets:
            raise ValueError("no datasets are given")
        length = len(datasets[0])
        for i, dataset in enumerate(datasets):
            if len(dataset) != length:
                raise ValueError(f"dataset of the index {i} has a wrong length")
        self._datasets = datasets
        self._length = length

    def __getitem__(self, index):
        batches = [dataset[index] for dataset in self._datasets]
        if isinstance(index, slice):
            return list(zip(*batches, strict=True))
        return tuple(batches)

    def __len__(self):
        return self._length
