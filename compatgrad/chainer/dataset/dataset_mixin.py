"""Indexing of datasets."""

import numpy as np


class DatasetMixin:
    """Base class of datasets that define `get_example` and ``__len__``."""

    def __getitem__(self, index):
        """One example for an integer, a list of examples for a slice, a list or an array of integers."""
        if isinstance(index, slice):
            return [self.get_example(i) for i in range(*index.indices(len(self)))]
        if isinstance(index, (list, np.ndarray)):
            return [self.get_example(i) for i in index]
        return self.get_example(index)

    def __len__(self):
        raise NotImplementedError

    def get_example(self, i):
        """Return the i-th example; raise IndexError where there is none."""
        raise NotImplementedError
