"""A dataset with a function applied to its examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compatgrad.chainer.dataset import dataset_mixin


class TransformDataset(dataset_mixin.DatasetMixin):
    """A dataset with a function applied to its examples, at each access.

    Args:
        dataset: the dataset.
        transform: the function; it must not modify its argument.

    Example:
        >>> chainer.datasets.TransformDataset([1, 2, 3], lambda x: -x)[1:]
        [-2, -3]

    Source: `chainer.datasets.TransformDataset` of Chainer 7.8.1.
    """

    def __init__(self, dataset: Sequence[Any], transform: Callable[[Any], Any]) -> None:
        self._dataset = dataset
        self._transform = transform

    def __len__(self):
        return len(self._dataset)

    def get_example(self, i: int) -> Any:
        """The transformed i-th example."""
        return self._transform(self._dataset[i])
