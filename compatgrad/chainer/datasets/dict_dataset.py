"""Several datasets side by side, as dicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class DictDataset:
    """Several datasets side by side: its examples are dicts of their examples.

    Args:
        **datasets: the datasets by the keys.

    Raises:
        ValueError: there is none, or they differ in length.

    Example:
        >>> data = chainer.datasets.DictDataset(x=[1, 2], label=[0, 1])
        >>> data[1], data[:1]
        ({'x': 2, 'label': 1}, [{'x': 1, 'label': 0}])

    Source: `chainer.datasets.DictDataset` of Chainer 7.8.1.
    """

    def __init__(self, **datasets: Sequence[Any]) -> None:
        if not datasets:
            raise ValueError("no datasets are given")
        length = len(next(iter(datasets.values())))
        for key, dataset in datasets.items():
            if len(dataset) != length:
                raise ValueError(f'dataset length conflicts at "{key}"')
        self._datasets = datasets
        self._length = length

    def __getitem__(self, index):
        batches = {key: dataset[index] for key, dataset in self._datasets.items()}
        if isinstance(index, slice):
            return [dict(zip(batches, values, strict=True)) for values in zip(*batches.values(), strict=True)]
        return batches

    def __len__(self):
        return self._length
