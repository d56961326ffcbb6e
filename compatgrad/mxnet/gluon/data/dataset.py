"""Datasets: objects with `len()`, and `[]` of integers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ... import recordio
from ...ndarray import NDArray
from .sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["Dataset", "SimpleDataset", "ArrayDataset", "RecordFileDataset"]


class Dataset:
    """Base class of datasets. A subclass defines `__getitem__(i)` and `__len__()`.

    Where a dataset is expected, anything with both will do: a list, a NumPy array, an NDArray.

    Raises:
        NotImplementedError: a subclass does not define them.
        AssertionError, TypeError: `shard` and `sample` refuse their arguments.

    Example:
        >>> class Squares(gluon.data.Dataset):
        ...     def __getitem__(self, i):
        ...         return [0, 1, 4, 9, 16][i]
        ...     def __len__(self):
        ...         return 5
        >>> list(Squares().filter(lambda x: x % 2).transform(lambda x: -x))
        [-1, -9]

    Source: `mxnet.gluon.data.Dataset` of MXNet 1.9.1.
    """

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__")

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """The samples for which `fn` is true. This call reads all samples; the chosen ones are read again in use."""
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Part `index` of `num_shards` parts of equal length, of which the first are longer by one if need be."""
        if num_shards <= 0:
            raise AssertionError(f"shard: num_shards must be positive, not {num_shards}")
        if not 0 <= index < num_shards:
            raise AssertionError(f"shard: index must be in [0, {num_shards}), not {index}")
        size, longer = divmod(len(self), num_shards)
        start = size * index + min(index, longer)
        return _SampledDataset(self, SequentialSampler(size + (index < longer), start))

    def take(self, count: int | None) -> Dataset:
        """The first `count` samples; all of them if there are fewer, or `count` is None."""
        length = len(self)
        return _SampledDataset(self, SequentialSampler(length if count is None else min(count, length)))

    def sample(self, sampler: Sampler) -> Dataset:
        """The samples whose indices a sampler gives, in its order."""
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sample: expected a gluon.data.Sampler, got {type(sampler).__name__}")
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """`fn` of each sample; a sample that is a tuple becomes several arguments.

        `lazy`: `fn` is called whenever a sample is read, as random transformations need it; else once, at this call.
        """
        transformed = _LazyTransformDataset(self, fn)
        return transformed if lazy else SimpleDataset([transformed[i] for i in range(len(transformed))])

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """`fn` of the first element of each sample, the others as they are: for data that come with labels."""
        return self.transform(_TransformFirstClosure(fn), lazy)


class SimpleDataset(Dataset):
    """A dataset of a list, an array, or anything else that has `len()` and `[]`.

    Args:
        data: the samples.

    Example:
        >>> dataset = gluon.data.SimpleDataset([1, 2, 3])
        >>> len(dataset), dataset.transform(lambda x: x * 10)[1]
        (3, 20)

    Source: `mxnet.gluon.data.SimpleDataset` of MXNet 1.9.1.
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class _LazyTransformDataset(SimpleDataset):
    def __init__(self, data: Any, fn: Callable[..., Any]) -> None:
        super().__init__(data)
        self._fn = fn

    def __getitem__(self, idx: int) -> Any:
        sample = self._data[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)


class _TransformFirstClosure:
    """Applies a function to the first element. It is a class because a closure cannot be pickled for workers."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def __call__(self, x: Any, *rest: Any) -> Any:
        return (self._fn(x), *rest) if rest else self._fn(x)


class _SampledDataset(Dataset):
    def __init__(self, dataset: Any, sampler: Sampler) -> None:
        self._dataset = dataset
        self._sampler = sampler
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._sampler)

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._indices[idx]]


class ArrayDataset(Dataset):
    """Sample i is the tuple of the i-th elements of all arguments, or the element of a single one.

    Elements of a one-dimensional NDArray become NumPy numbers.

    Args:
        *args: arrays, lists or datasets of one length.

    Raises:
        AssertionError: there are none, or their lengths differ.

    Example:
        >>> dataset = gluon.data.ArrayDataset(nd.arange(6).reshape((3, 2)), [7, 8, 9])
        >>> data, label = dataset[1]
        >>> data.asnumpy(), label
        (array([2., 3.], dtype=float32), 8)

    Source: `mxnet.gluon.data.ArrayDataset` of MXNet 1.9.1.
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise AssertionError("ArrayDataset: needs at least one array")
        self._length = len(args[0])
        self._data = []
        for i, data in enumerate(args):
            if len(data) != self._length:
                raise AssertionError(
                    f"ArrayDataset: all arrays must have one length, but array 0 has length {self._length} and array "
                    f"{i} has length {len(data)}"
                )
            # labels: to make an NDArray of each element would take longer than all else
            self._data.append(data.asnumpy() if isinstance(data, NDArray) and data.ndim == 1 else data)

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length


class RecordFileDataset(Dataset):
    """The records of a RecordIO file, as bytes.

    Args:
        filename: the path of the file; its index lies next to it, with the extension .idx.

    Raises:
        mxnet.base.MXNetError: the file cannot be opened or is damaged.

    Example:
        >>> file = mx.recordio.MXIndexedRecordIO("texts.idx", "texts.rec", "w")
        >>> for i, text in enumerate((b"one", b"two")):
        ...     file.write_idx(i, text)
        >>> file.close()
        >>> list(gluon.data.RecordFileDataset("texts.rec"))
        [b'one', b'two']

    Source: `mxnet.gluon.data.RecordFileDataset` of MXNet 1.9.1.
    """

    def __init__(self, filename: str) -> None:
        self.idx_file = os.path.splitext(filename)[0] + ".idx"
        self.filename = filename
        self._record = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: int) -> bytes | None:
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)


class _DownloadedDataset(Dataset):
    """Base class of datasets whose files lie under `root`; `_get_data` sets `_data` and `_label`."""

    def __init__(self, root: str, transform: Callable[..., Any] | None) -> None:
        self._transform = transform
        self._data: Any = None
        self._label: Any = None
        self._root = os.path.expanduser(root)
        os.makedirs(self._root, exist_ok=True)
        self._get_data()

    def __getitem__(self, idx: int) -> Any:
        sample = self._data[idx], self._label[idx]
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self._label)

    def _get_data(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _get_data")
