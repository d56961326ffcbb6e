"""The interface of tabular datasets."""

import compatgrad.chainer as chainer
from compatgrad.chainer import backend
from compatgrad.chainer.dataset import dataset_mixin


class TabularDataset(dataset_mixin.DatasetMixin):
    """Base class of datasets whose examples have the same elements, the columns of a table.

    A subclass defines ``__len__``, `keys`, `mode` and `get_examples`. The methods that return datasets
    return views.
    """

    def __len__(self):
        raise NotImplementedError

    @property
    def keys(self):
        """Names of the columns, a tuple of strings."""
        raise NotImplementedError

    @property
    def mode(self):
        """What an example is: `tuple`, `dict`, or None for the value of the only column."""
        raise NotImplementedError

    def get_examples(self, indices, key_indices):
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
        return _views._SliceHelper(self)

    def fetch(self):
        """Return all columns: a tuple or dict of them, or the only one, according to `mode`."""
        return self._format(self.get_examples(None, None))

    def _format(self, values):
        if self.mode is tuple:
            return values
        if self.mode is dict:
            return dict(zip(self.keys, values, strict=True))
        return values[0]

    def convert(self, data):
        """Turn what `fetch` returned into arrays. Views of several datasets use that of the first."""
        if isinstance(data, tuple):
            return tuple([_as_array(column) for column in data])
        if isinstance(data, dict):
            return {key: _as_array(column) for key, column in data.items()}
        return _as_array(data)

    def astuple(self):
        """A view whose examples are tuples."""
        return _views._AsMode(self, tuple)

    def asdict(self):
        """A view whose examples are dicts."""
        return _views._AsMode(self, dict)

    def concat(self, *datasets):
        """This dataset and others below each other. Raises ValueError where their keys differ."""
        return _combined._Concat(self, *datasets)

    def join(self, *datasets):
        """This dataset and others side by side. Raises ValueError for other lengths or the same keys."""
        return _combined._Join(self, *datasets)

    def transform(self, keys, transform):
        """A function of each example; `keys` names the columns of its results.

        It is called with a tuple's elements, a dict's items as keywords, or the value. Its results, tuples,
        dicts or values, determine `mode`; ValueError where they are not all of one kind.
        """
        return _transform._Transform(self, keys, transform)

    def transform_batch(self, keys, transform_batch):
        """The same with a function of columns, which must not change their length (ValueError)."""
        return _transform._TransformBatch(self, keys, transform_batch)

    def with_converter(self, converter):
        """A view whose `convert` calls `converter` as `transform` calls its function."""
        return _views._WithConverter(self, converter)

    def get_example(self, i):
        return self._format(tuple([column[0] for column in self.get_examples([i], None)]))

    def __iter__(self):
        return (self.get_example(i) for i in range(len(self)))


def _as_array(column):
    if isinstance(column, chainer.get_array_types()):
        return column
    device = backend.get_device_from_array(column[0])
    with chainer.using_device(device):
        return device.xp.asarray(column)


# The views are datasets: their modules import this one.
from compatgrad.chainer.dataset.tabular import _combined, _transform, _views  # noqa: E402
