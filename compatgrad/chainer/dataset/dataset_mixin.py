"""Indexing of datasets."""

from __future__ import annotations

from typing import Any

import numpy as np


class DatasetMixin:
    """Base class of datasets. A subclass defines `__len__` and `get_example`; indexing by an integer then returns an
    example, by a slice, a list or an array of integers a list of examples.

    Example:
        >>> class Squares(chainer.dataset.DatasetMixin):
        ...     def __len__(self):
        ...         return 5
        ...     def get_example(self, i):
        ...         return i * i
        >>> Squares()[3], Squares()[1:4], Squares()[[0, 4]]
        (9, [1, 4, 9], [0, 16])

    Source: `chainer.dataset.DatasetMixin` of Chainer 7.8.1.
    """

    def __getitem__(self, index):
        """One example for an integer, a list of examples for a slice, a list or an array of integers."""
        if isinstance(index, slice):
            return [self.get_example(i) for i in range(*index.indices(len(self)))]
        if isinstance(index, (list, np.ndarray)):
            return [self.get_example(i) for i in index]
        return self.get_example(index)

    def __len__(self):
        raise NotImplementedError

    def get_example(self, i: int) -> Any:
        """The i-th example; subclasses define it and raise IndexError for an index out of range."""
        raise NotImplementedError
