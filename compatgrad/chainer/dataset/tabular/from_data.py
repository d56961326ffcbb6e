"""Tabular datasets of lists, arrays and functions."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from compatgrad.chainer.backend import get_array_types
from compatgrad.chainer.dataset.tabular import tabular_dataset

if TYPE_CHECKING:
    from compatgrad.chainer.dataset.tabular.tabular_dataset import TabularDataset


def from_data(data: Any, *, size: int | None = None) -> TabularDataset:
    """Makes a tabular dataset of columns. Its examples are values for a single column, dicts for a dict, otherwise
    tuples.

    Args:
        data: a column: a list or an array, a pair of a name and a list, array or function of the index, or a pair of a
            tuple of names and a function that returns a tuple or dict; or a tuple of columns; or a dict from names, or
            tuples of names, to lists, arrays or functions.
        size: number of rows; None takes the length of a list or array.

    Returns:
        The dataset.

    Raises:
        TypeError: a column is neither a list, an array nor a function.
        ValueError: a function has no name, all columns are functions and `size` is None, or columns differ in length.

    Example:
        >>> data = chainer.dataset.tabular.from_data({"x": [0, 1, 2], "y": lambda i: i * i})
        >>> data[2], data.keys
        ({'x': 2, 'y': 4}, ('x', 'y'))

    Source: `chainer.dataset.tabular.from_data` of Chainer 7.8.1.
    """
    if isinstance(data, tuple):
        if len(data) == 2 and _is_name(data[0]):
            return _make_dataset(*data, size)
        columns = [column if isinstance(column, tuple) else (None, column) for column in data]
    elif isinstance(data, dict):
        columns = list(data.items())
    else:
        return _make_dataset(None, data, size)

    for _, column in columns:
        if size is None:
            with contextlib.suppress(TypeError):
                size = len(column)
    first, *others = [_make_dataset(key, column, size) for key, column in columns]
    joined = first.join(*others)
    return joined.asdict() if isinstance(data, dict) else joined.astuple()


def _is_name(key):
    return isinstance(key, str) or (isinstance(key, tuple) and all(isinstance(k, str) for k in key))


def _make_dataset(key, data, size):
    if isinstance(data, (list, *get_array_types())):
        return _Column(f"_{id(data)}" if key is None else key, data)
    if not callable(data):
        raise TypeError(f"a column must be a list, an array or a callable, not {type(data)}")
    if key is None:
        raise ValueError("key(s) must be specified for callable")
    if size is None:
        raise ValueError("size must be specified for callable")
    return _Column("index", range(size)).transform(key, data)


class _Column(tabular_dataset.TabularDataset):
    """A list, an array or a range."""

    def __init__(self, key, data):
        self._key = key
        self._data = data

    def __len__(self):
        return len(self._data)

    @property
    def keys(self):
        return (self._key,)

    @property
    def mode(self):
        return None

    def get_examples(self, indices, key_indices):
        data = self._data
        if isinstance(indices, slice):
            data = data[indices]
        elif indices is not None:
            is_array = isinstance(data, get_array_types())
            data = data[indices] if is_array else [data[i] for i in indices]
        return (data,) * (1 if key_indices is None else len(key_indices))
