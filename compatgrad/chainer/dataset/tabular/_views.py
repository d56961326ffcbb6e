"""Views of a tabular dataset."""

import numbers

import numpy as np

from compatgrad.chainer.dataset.tabular import delegate_dataset


class _View(delegate_dataset.DelegateDataset):
    def convert(self, data):
        return self.dataset.convert(data)


class _AsMode(_View):
    def __init__(self, dataset, mode):
        super().__init__(dataset)
        self._mode = mode

    @property
    def mode(self):
        return self._mode


class _WithConverter(_View):
    def __init__(self, dataset, converter):
        super().__init__(dataset)
        self._converter = converter

    def convert(self, data):
        if isinstance(data, tuple):
            return self._converter(*data)
        if isinstance(data, dict):
            return self._converter(**data)
        return self._converter(data)


class _SliceHelper:
    def __init__(self, dataset):
        self._dataset = dataset

    def __getitem__(self, args):
        indices, keys = args if isinstance(args, tuple) else (args, None)
        return _Slice(self._dataset, indices, keys)


class _Slice(_View):
    def __init__(self, dataset, indices, keys):
        super().__init__(dataset)
        self._is_unary = keys is not None and not isinstance(keys, tuple)
        self._indices = _as_indices(indices, len(dataset))
        self._key_indices = _as_key_indices((keys,) if self._is_unary else keys, dataset.keys)

    def __len__(self):
        if isinstance(self._indices, slice):
            return len(range(len(self.dataset))[self._indices])
        return len(self._indices)

    @property
    def keys(self):
        keys = self.dataset.keys
        return keys if self._key_indices is None else tuple([keys[i] for i in self._key_indices])

    @property
    def mode(self):
        if self._is_unary:
            return None
        mode = self.dataset.mode
        return mode if self._key_indices is None else mode or tuple

    def get_examples(self, indices, key_indices):
        mine = self._key_indices
        if key_indices is None:
            key_indices = mine
        elif mine is not None:
            key_indices = tuple([mine[i] for i in key_indices])
        return self.dataset.get_examples(self._translate(indices), key_indices)

    def _translate(self, indices):
        """From indices of this view to those of the dataset."""
        mine = self._indices
        if indices is None:
            return mine
        if not isinstance(mine, slice):
            return mine[indices] if isinstance(indices, slice) else [mine[i] for i in indices]
        rows = range(len(self.dataset))[mine]
        if not isinstance(indices, slice):
            return [rows[i] for i in indices]
        rows = rows[indices]
        return _as_slice(rows.start, rows.stop, rows.step)


def _as_slice(start, stop, step):
    """The slice of a range: there, a negative number would count from the end."""
    if step < 0 and stop < 0:
        stop = None
    return slice(start, stop, step)


def _as_indices(indices, length):
    if isinstance(indices, slice) or len(indices) == 0:
        return indices
    if all(isinstance(index, (bool, np.bool_)) for index in indices):
        if len(indices) != length:
            raise ValueError(
                f"The number of booleans is different from the length of dataset: {len(indices)} != {length}"
            )
        return [i for i, index in enumerate(indices) if index]
    return [_normalize(int(index), length, "dataset") for index in indices]


def _as_key_indices(keys, names):
    return None if keys is None else tuple([_as_key_index(key, names) for key in keys])


def _as_key_index(key, names):
    if isinstance(key, numbers.Integral):
        return _normalize(key, len(names), "keys")
    if key not in names:
        raise KeyError(f"{key} does not exist")
    return names.index(key)


def _normalize(index, length, what):
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for {what} with size {length}")
    return index % length
