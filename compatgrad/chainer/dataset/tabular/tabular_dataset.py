"""`TabularDataset`, the base class of tables, and its views, which are tabular datasets too."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from compatgrad.chainer import backend
from compatgrad.chainer.backend import get_array_types, using_device
from compatgrad.chainer.dataset import dataset_mixin


class TabularDataset(dataset_mixin.DatasetMixin):
    """Base class of datasets whose examples have the same elements, the columns of a table. A subclass defines
    `__len__`, `keys`, `mode` and `get_examples`. The methods that return datasets return views, which compute at each
    access.

    Example:
        >>> x = chainer.dataset.tabular.from_data(("x", [1, 2, 3]))
        >>> y = chainer.dataset.tabular.from_data(("y", [4, 5, 6]))
        >>> x.join(y).slice[1:].asdict()[0], x.transform("z", lambda x: -x).fetch()
        ({'x': 2, 'y': 5}, [-1, -2, -3])

    Source: `chainer.dataset.TabularDataset` of Chainer 7.8.1.
    """

    def __len__(self):
        raise NotImplementedError

    @property
    def keys(self):
        """Names of the columns, a tuple of strings."""
        raise NotImplementedError

    @property
    def mode(self):
        """The type of an example: `tuple`, `dict`, or None for the value of the only column."""
        raise NotImplementedError

    def get_examples(self, indices: Any, key_indices: tuple[int, ...] | None) -> tuple[Any, ...]:
        """Return columns, a tuple of lists or arrays.

        `indices`: list or slice of the rows, `key_indices`: tuple of the columns; None for all.
        """
        raise NotImplementedError

    @property
    def slice(self):
        """``dataset.slice[rows]`` or ``dataset.slice[rows, columns]`` is a view of a part.

        Rows: slice, or list or array of integers or booleans. Columns: name or index, or a tuple of them.
        Raises IndexError, KeyError, or ValueError for a wrong number of booleans.
        """
        return _SliceHelper(self)

    def fetch(self) -> Any:
        """Return all columns: a tuple or dict of them, or the only one, according to `mode`."""
        return self._format(self.get_examples(None, None))

    def _format(self, values):
        if self.mode is tuple:
            return values
        if self.mode is dict:
            return dict(zip(self.keys, values, strict=True))
        return values[0]

    def convert(self, data: Any) -> Any:
        """Turn what `fetch` returned into arrays. A view of several datasets uses the `convert` of the first."""
        if isinstance(data, tuple):
            return tuple([_as_array(column) for column in data])
        if isinstance(data, dict):
            return {key: _as_array(column) for key, column in data.items()}
        return _as_array(data)

    def astuple(self) -> TabularDataset:
        """A view whose examples are tuples."""
        return _AsMode(self, tuple)

    def asdict(self) -> TabularDataset:
        """A view whose examples are dicts."""
        return _AsMode(self, dict)

    def concat(self, *datasets: TabularDataset) -> TabularDataset:
        """A view of the rows of this dataset followed by those of the others. Raises ValueError if their keys
        differ."""
        return _Concat(self, *datasets)

    def join(self, *datasets: TabularDataset) -> TabularDataset:
        """A view of the columns of this dataset and of the others. Raises ValueError if lengths differ or a key
        occurs twice."""
        return _Join(self, *datasets)

    def transform(self, keys: str | tuple[str, ...], transform: Callable[..., Any]) -> TabularDataset:
        """A function of each example; `keys` names the columns of its results.

        It is called with a tuple's elements, a dict's items as keywords, or the value. Its results, tuples,
        dicts or values, determine `mode`. Raises ValueError if they are not all of one kind.
        """
        return _Transform(self, keys, transform)

    def transform_batch(self, keys: str | tuple[str, ...], transform_batch: Callable[..., Any]) -> TabularDataset:
        """As `transform`, with a function of whole columns. Raises ValueError if it changes their length."""
        return _TransformBatch(self, keys, transform_batch)

    def with_converter(self, converter: Callable[..., Any]) -> TabularDataset:
        """A view whose `convert` calls `converter` as `transform` calls its function."""
        return _WithConverter(self, converter)

    def get_example(self, i: int) -> Any:
        """The i-th example: a tuple or dict of the values of the columns, or the value of the only one."""
        return self._format(tuple([column[0] for column in self.get_examples([i], None)]))

    def __iter__(self):
        return (self.get_example(i) for i in range(len(self)))


def _as_array(column):
    if isinstance(column, get_array_types()):
        return column
    device = backend.get_device_from_array(column[0])
    with using_device(device):
        return device.xp.asarray(column)


class DelegateDataset(TabularDataset):
    """Tabular dataset with the contents of another one: a base class of datasets that change part of it.

    Args:
        dataset: the other dataset.

    Example:
        >>> class Doubled(chainer.dataset.tabular.DelegateDataset):
        ...     def get_examples(self, indices, key_indices):
        ...         return tuple([[2 * x for x in column] for column in super().get_examples(indices, key_indices)])
        >>> Doubled(chainer.dataset.tabular.from_data([1, 2, 3]))[1]
        4

    Source: `chainer.dataset.tabular.DelegateDataset` of Chainer 7.8.1.
    """

    def __init__(self, dataset: TabularDataset) -> None:
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.dataset.keys

    @property
    def mode(self) -> Any:
        """The type of an example, which is that of the other dataset."""
        return self.dataset.mode

    def get_examples(self, indices: Any, key_indices: tuple[int, ...] | None) -> tuple[Any, ...]:
        """The columns of the other dataset."""
        return self.dataset.get_examples(indices, key_indices)


# ---- views of one dataset ----


class _View(DelegateDataset):
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
        """Turns indices of this view into indices of the dataset."""
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
    """The slice of a range. A range that goes down to 0 stops at -1, which a slice would count from the end."""
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


# ---- views of several ----


class _Combined(TabularDataset):
    def __init__(self, *datasets):
        self._datasets = datasets

    def convert(self, data):
        return self._datasets[0].convert(data)


class _Concat(_Combined):
    def __init__(self, *datasets):
        if any(dataset.keys != datasets[0].keys for dataset in datasets):
            raise ValueError(f"All datasets must have the same keys. Actual: {[dataset.keys for dataset in datasets]}")
        super().__init__(*datasets)

    def __len__(self):
        return sum(map(len, self._datasets))

    @property
    def keys(self):
        return self._datasets[0].keys

    @property
    def mode(self):
        return self._datasets[0].mode

    def _with_offsets(self):
        offset = 0
        for dataset in self._datasets:
            yield offset, dataset
            offset += len(dataset)

    def get_examples(self, indices, key_indices):
        n_columns = len(self.keys if key_indices is None else key_indices)
        if indices is None:
            parts = [dataset.get_examples(None, key_indices) for dataset in self._datasets]
        elif isinstance(indices, slice):
            parts = self._get_slice(indices, key_indices)
        else:
            return self._get_list(indices, key_indices, n_columns)
        if len(parts) == 1:
            return parts[0]
        return tuple([[value for part in parts for value in part[i]] for i in range(n_columns)])

    def _get_slice(self, indices, key_indices):
        rows = range(len(self))[indices]
        start, stop, step = indices.indices(len(self))
        parts = []
        for offset, dataset in self._with_offsets():
            mine = _clip(rows, offset, offset + len(dataset))
            if mine:
                end = min(stop - offset, len(dataset)) if step > 0 else max(stop - offset, -1)
                parts.append(dataset.get_examples(_as_slice(mine[0] - offset, end, step), key_indices))
        return parts if step > 0 else parts[::-1]

    def _get_list(self, indices, key_indices, n_columns):
        parts = []
        places = [None] * len(indices)  # the number of the part, and the row in that part
        for offset, dataset in self._with_offsets():
            mine = []
            for i, index in enumerate(indices):
                if offset <= index < offset + len(dataset):
                    places[i] = len(parts), len(mine)
                    mine.append(index - offset)
            if mine:
                parts.append(dataset.get_examples(mine, key_indices))
        if len(parts) == 1:
            return parts[0]
        return tuple([[parts[part][i][row] for part, row in places] for i in range(n_columns)])


def _clip(rows, start, stop):
    """The part of a range that lies in ``[start, stop)``."""
    if rows.step < 0:
        return _clip(rows[::-1], start, stop)[::-1]
    first = -(-(start - rows.start) // rows.step)
    last = -(-(stop - rows.start) // rows.step)
    return rows[max(first, 0) : max(last, 0)]


class _Join(_Combined):
    def __init__(self, *datasets):
        if any(len(dataset) != len(datasets[0]) for dataset in datasets):
            raise ValueError(
                f"All datasets must have the same length. Actual: {[len(dataset) for dataset in datasets]}"
            )
        super().__init__(*datasets)
        if len(set(self.keys)) != len(self.keys):
            raise ValueError(f"All keys must be unique among all datasets. Actual: {self.keys}")

    def __len__(self):
        return len(self._datasets[0])

    @property
    def keys(self):
        return tuple([key for dataset in self._datasets for key in dataset.keys])

    @property
    def mode(self):
        return next((dataset.mode for dataset in self._datasets if dataset.mode), tuple)

    def get_examples(self, indices, key_indices):
        if key_indices is None:
            return tuple([column for dataset in self._datasets for column in dataset.get_examples(indices, None)])
        columns = {}
        offset = 0
        for dataset in self._datasets:
            end = offset + len(dataset.keys)
            # Each column once, in the order of the request.
            mine = tuple(dict.fromkeys(i - offset for i in key_indices if offset <= i < end))
            if mine:
                for i, column in zip(mine, dataset.get_examples(indices, mine), strict=True):
                    columns[offset + i] = column
            offset = end
        return tuple([columns[i] for i in key_indices])


# ---- functions of examples ----


class _TransformBase(_View):
    _name = None
    _mode_is_known = False

    def __init__(self, dataset, keys, function):
        super().__init__(dataset)
        self._keys = keys if isinstance(keys, tuple) else (keys,)
        self._function = function

    @property
    def keys(self):
        return self._keys

    @property
    def mode(self):
        if not self._mode_is_known:
            self.get_examples([0], None)
        return self._mode

    def _call(self, values):
        """Apply the function to an example or to columns; return its results by number of the column."""
        dataset = self.dataset
        if dataset.mode is dict:
            result = self._function(**dict(zip(dataset.keys, values, strict=True)))
        else:
            result = self._function(*values)
        mode = type(result) if isinstance(result, (tuple, dict)) else None
        mode = next((kind for kind in (tuple, dict) if mode and issubclass(mode, kind)), None)
        if self._mode_is_known and mode is not self._mode:
            raise ValueError(f"{self._name} must not change its return type")
        self._mode = mode
        self._mode_is_known = True
        if mode is None:
            return (result,)
        return result if mode is tuple else {i: result[k] for i, k in enumerate(self._keys) if k in result}

    def _get_key_indices(self, key_indices):
        return range(len(self._keys)) if key_indices is None else key_indices


class _Transform(_TransformBase):
    _name = "transform"

    def get_examples(self, indices, key_indices):
        examples = zip(*self.dataset.get_examples(indices, None), strict=True)
        results = [self._call(example) for example in examples]
        return tuple([[result[i] for result in results] for i in self._get_key_indices(key_indices)])


class _TransformBatch(_TransformBase):
    _name = "transform_batch"

    def get_examples(self, indices, key_indices):
        if indices is None:
            length = len(self)
        elif isinstance(indices, slice):
            length = len(range(len(self))[indices])
        else:
            length = len(indices)
        columns = self._call(self.dataset.get_examples(indices, None))
        for column in columns.values() if isinstance(columns, dict) else columns:
            if len(column) != length:
                raise ValueError(
                    f"transform_batch must not change the length of data. Actual: {len(column)}, expected {length}"
                )
        return tuple([columns[i] for i in self._get_key_indices(key_indices)])
