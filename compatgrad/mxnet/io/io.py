"""DataBatch and DataDesc, the base class DataIter, and iterators over arrays and over other iterators."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..base import mx_real_t
from ..ndarray import NDArray

__all__ = ["DataDesc", "DataBatch", "DataIter", "ResizeIter", "PrefetchingIter", "NDArrayIter"]

Source = list[tuple[str, Any]]


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """Name and shape of an array of a batch, a named tuple, with its dtype and layout.

    Args:
        name: the name.
        shape: the shape of a whole batch.
        dtype: its dtype.
        layout: a letter for each axis, N for samples; None if samples are in front.

    Example:
        >>> desc = mx.io.DataDesc("data", (2, 3, 8, 8), layout="NCHW")
        >>> desc.shape, mx.io.DataDesc.get_batch_axis(desc.layout)
        ((2, 3, 8, 8), 0)

    Source: `mxnet.io.DataDesc` of MXNet 1.9.1.
    """

    dtype: Any
    layout: str | None

    def __new__(
        cls, name: str, shape: tuple[int, ...], dtype: Any = mx_real_t, layout: str | None = "NCHW"
    ) -> DataDesc:
        desc = super().__new__(cls, name, shape)
        desc.dtype = dtype
        desc.layout = layout
        return desc

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The axis of samples, "N", of a layout: 0 for None, -1 for a layout without one."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Iterable[Any], types: Iterable[Any] | None) -> list[DataDesc]:
        """Descriptions of pairs (name, shape) and, unless None, pairs (name, dtype)."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        of = dict(types)
        return [DataDesc(name, shape, of[name]) for name, shape in shapes]


class DataBatch:
    """A batch of samples.

    Args:
        data: the arrays of data, a list.
        label: the arrays of labels, a list; None for none.
        pad: how many samples at the end only fill the batch up.
        index: numbers of the samples.
        bucket_key: the key of the batch's bucket, for BucketingModule.
        provide_data, provide_label: descriptions (DataDesc) of both lists.

    Raises:
        AssertionError: `data` or `label` is no list.

    Example:
        >>> print(mx.io.DataBatch([nd.ones((2, 3))], [nd.ones(2)]))
        DataBatch: data shapes: [(2, 3)] label shapes: [(2,)]

    Source: `mxnet.io.DataBatch` of MXNet 1.9.1.
    """

    def __init__(
        self,
        data: Sequence[NDArray] | None,
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Any = None,
        provide_label: Any = None,
    ) -> None:
        for name, value in (("data", data), ("label", label)):
            if value is not None and not isinstance(value, (list, tuple)):
                raise AssertionError(f"DataBatch: {name} must be a list of NDArrays, not {type(value).__name__}")
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        labels = [x.shape for x in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {[x.shape for x in self.data]} label shapes: {labels}"


class DataIter:
    """Base class of iterators over batches.

    A subclass defines `next()`, or `iter_next()` and the four `get…()` of the current batch.

    Args:
        batch_size: samples in a batch.

    Example:
        >>> class Countdown(mx.io.DataIter):
        ...     def next(self):
        ...         self.batch_size -= 1
        ...         if self.batch_size < 0: raise StopIteration
        ...         return mx.io.DataBatch([nd.array([self.batch_size])])
        >>> [batch.data[0].asnumpy().tolist() for batch in Countdown(2)]
        [[1.0], [0.0]]

    Source: `mxnet.io.DataIter` of MXNet 1.9.1.
    """

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> DataIter:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def reset(self) -> None:
        """Goes back to the beginning."""

    def next(self) -> DataBatch:
        """The next batch; StopIteration at the end."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(data=self.getdata(), label=self.getlabel(), pad=self.getpad(), index=self.getindex())

    def iter_next(self) -> bool:
        """Goes to the next batch; False at the end."""
        return False

    def getdata(self) -> Any:
        """The data of the current batch."""

    def getlabel(self) -> Any:
        """The labels of the current batch."""

    def getindex(self) -> Any:
        """The numbers of the samples of the current batch, if they are known."""
        return None

    def getpad(self) -> Any:
        """The number of samples that fill up the current batch."""


class _Current(DataIter):
    """An iterator whose `iter_next` leaves a batch in `current_batch`."""

    current_batch: Any = None

    def getdata(self) -> Any:
        return self.current_batch.data

    def getlabel(self) -> Any:
        return self.current_batch.label

    def getindex(self) -> Any:
        return self.current_batch.index

    def getpad(self) -> Any:
        return self.current_batch.pad


class ResizeIter(_Current):
    """Gives another iterator's batches in epochs of a given length; the iterator is started again when it ends.

    Args:
        data_iter: the iterator.
        size: number of batches.
        reset_internal: whether `reset` also resets the other iterator.

    Raises:
        StopIteration: the other iterator has no batch at all.

    Example:
        >>> batches = mx.io.ResizeIter(mx.io.NDArrayIter(np.array([1, 2]), batch_size=1), 3)
        >>> [batch.data[0].asnumpy().tolist() for batch in batches]
        [[1.0], [2.0], [1.0]]

    Source: `mxnet.io.ResizeIter` of MXNet 1.9.1.
    """

    def __init__(self, data_iter: DataIter, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


def _next_or_none(it: DataIter) -> DataBatch | None:
    try:
        return it.next()
    except StopIteration:
        return None


class PrefetchingIter(_Current):
    """One or several iterators, whose next batches threads load ahead; a batch has the arrays of all iterators.

    Args:
        iters: an iterator or a list of them.
        rename_data, rename_label: new names of data and labels, a list of a dict from old to new ones for each
            iterator; None keeps them.

    Raises:
        AssertionError: there is no iterator; in `next`, they have not equally many batches or samples.

    Example:
        >>> arrays = [mx.io.NDArrayIter(np.array([i, i + 1]), batch_size=1) for i in (1, 5)]
        >>> both = mx.io.PrefetchingIter(arrays, rename_data=[{"data": "x"}, {"data": "y"}])
        >>> [desc.name for desc in both.provide_data], [x.asnumpy() for x in next(both).data]
        (['x', 'y'], [array([1.], dtype=float32), array([5.], dtype=float32)])

    Source: `mxnet.io.PrefetchingIter` of MXNet 1.9.1.
    """

    def __init__(self, iters: Any, rename_data: Any = None, rename_label: Any = None) -> None:
        self.iters = iters if isinstance(iters, list) else [iters]
        if not self.iters:
            raise AssertionError("PrefetchingIter: needs at least one iterator")
        self.n_iter = len(self.iters)
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0][1][0])
        self._threads = ThreadPoolExecutor(self.n_iter, "prefetch")
        self._load()

    def _load(self) -> None:
        self._coming = [self._threads.submit(_next_or_none, it) for it in self.iters]

    def __del__(self) -> None:
        threads = getattr(self, "_threads", None)
        if threads is not None:
            threads.shutdown(wait=False)

    @staticmethod
    def _described(of: list[Any], names: Any) -> list[DataDesc]:
        if names is None:
            return sum(of, [])
        return [
            DataDesc(new[x.name], x.shape, x.dtype) if isinstance(x, DataDesc) else DataDesc(*x)
            for new, descs in zip(names, of, strict=False)
            for x in descs
        ]

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data of all iterators."""
        return self._described([it.provide_data for it in self.iters], self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the labels of all iterators."""
        return self._described([it.provide_label for it in self.iters], self.rename_label)

    def reset(self) -> None:
        for coming in self._coming:
            coming.exception()  # waits for the thread; its error belongs to the epoch that ends, and is dropped
        for it in self.iters:
            it.reset()
        self._load()

    def iter_next(self) -> bool:
        batches = [coming.result() for coming in self._coming]
        ended = [batch is None for batch in batches]
        if all(ended):
            return False
        if any(ended) or any(batch.pad != batches[0].pad for batch in batches):
            raise AssertionError("PrefetchingIter: the iterators do not have equally many batches and samples")
        self.current_batch = DataBatch(
            sum((list(batch.data) for batch in batches), []),
            sum((list(batch.label or ()) for batch in batches), []),
            batches[0].pad,
            batches[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._load()
        return True

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self.current_batch


# ---- arrays ---------------------------------------------------------------------------------------------------------
def _in_a_file(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "h5py"


def _init_data(data: Any, allow_empty: bool, default_name: str) -> Source:
    """Pairs (name, array) in the order of names, of an array, a list of arrays, or a dict."""
    if data is None:
        data = []
    if isinstance(data, (np.ndarray, NDArray)) or _in_a_file(data):
        data = [data]
    if isinstance(data, (list, tuple)):
        if not data and not allow_empty:
            raise AssertionError(f"NDArrayIter: {default_name}: at least one array is needed")
        names = [default_name] if len(data) == 1 else [f"_{i}_{default_name}" for i in range(len(data))]
        data = dict(zip(names, data, strict=True))
    if not isinstance(data, dict):
        raise TypeError(
            f"NDArrayIter: {default_name}: expected an NDArray, a numpy.ndarray, an h5py.Dataset, or a list or dict of "
            f"them, got {type(data).__name__}"
        )
    source = []
    for name, value in sorted(data.items()):
        if not (isinstance(value, NDArray) or _in_a_file(value)):
            try:
                value = nd.array(value)
            except (TypeError, ValueError) as e:
                raise TypeError(f"NDArrayIter: {name}: cannot make an array of a {type(value).__name__}: {e}") from e
        source.append((name, value))
    return source


class NDArrayIter(DataIter):
    """Batches of arrays.

    Args:
        data, label: an array (NDArray, NumPy or of h5py), a list of them, or a dict with names as keys. What is not an
            NDArray becomes one of float32.
        batch_size: samples in a batch.
        shuffle: a new order for each epoch, drawn from NumPy's generator.
        last_batch_handle: what becomes of samples at the end that do not fill a batch: "pad" fills it with samples from
            the beginning, "discard" drops them, "roll_over" starts the next epoch with them.
        data_name, label_name: names of arrays that come without.
        layout: a letter for each axis, N for samples.

    Raises:
        TypeError: something is no array, or cannot be made one.
        AssertionError: there is no data.
        NotImplementedError: an array of storage type csr with another `last_batch_handle` than "discard".

    Example:
        >>> batches = mx.io.NDArrayIter(np.array([1, 2, 3]), np.array([7, 8, 9]), batch_size=2)
        >>> [(batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist(), batch.pad) for batch in batches]
        [([1.0, 2.0], [7.0, 8.0], 0), ([3.0, 1.0], [9.0, 7.0], 1)]

    Source: `mxnet.io.NDArrayIter` of MXNet 1.9.1.
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        self.data = _init_data(data, allow_empty=False, default_name=data_name)
        self.label = _init_data(label, allow_empty=True, default_name=label_name)
        sparse = [name for name, x in self.data + self.label if getattr(x, "stype", "default") == "csr"]
        if sparse and last_batch_handle != "discard":
            raise NotImplementedError(
                f"NDArrayIter: {sparse[0]} is of storage type csr, which needs last_batch_handle='discard'"
            )
        self.num_data = self.data[0][1].shape[0]
        self.idx = np.arange(self.num_data)
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        self.cursor = -batch_size
        self._cache: list[Any] | None = None  # data and labels of a last batch that is too short
        self.reset()
        self.data_list = [x for _, x in self.data] + [x for _, x in self.label]
        self.num_source = len(self.data_list)

    def _described(self, source: Source) -> list[DataDesc]:
        axis = self._axis
        return [
            DataDesc(name, (*x.shape[:axis], self.batch_size, *x.shape[axis + 1 :]), x.dtype, layout=self.layout)
            for name, x in source
        ]

    @property
    def _axis(self) -> int:
        return self.layout.find("N")

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data of a batch."""
        return self._described(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the labels of a batch."""
        return self._described(self.label)

    def hard_reset(self) -> None:
        """Goes back to the beginning, and forgets samples that would be rolled over."""
        if self.shuffle:
            self._shuffle_data()
        self.cursor = -self.batch_size
        self._cache = None

    def reset(self) -> None:
        if self.shuffle:
            self._shuffle_data()
        left = self.num_data - self.cursor
        if self.last_batch_handle == "roll_over" and 0 < left < self.batch_size:
            self.cursor = -left - self.batch_size
        else:
            self.cursor = -self.batch_size

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        data, label = self.getdata(), self.getlabel()
        if data[0].shape[self._axis] != self.batch_size:
            self._cache = [data, label]
            raise StopIteration
        if self.cursor < 0:
            self._cache = None
        return DataBatch(data=data, label=label, pad=self.getpad(), index=None)

    def _rows(self, source: Source, start: int, stop: int) -> list[NDArray]:
        rows = []
        for _, x in source:
            if _in_a_file(x):
                wanted = self.idx[start:stop]
                order = np.argsort(wanted)  # h5py reads only ascending indices
                rows.append(nd.array(x[wanted[order]][np.argsort(order)]))
            elif getattr(x, "stype", "default") == "csr":
                rows.append(x[start:stop])
            else:
                rows.append(nd.slice_axis(x, axis=self._axis, begin=start, end=stop))
        return rows

    def _joined(self, parts: list[list[NDArray]]) -> list[NDArray]:
        if len(parts) == 1:
            return parts[0]
        return [nd.concat(*arrays, dim=self._axis) for arrays in zip(*parts, strict=True)]

    def _batchify(self, source: Source, rolled_over: list[NDArray] | None) -> list[NDArray]:
        start, stop = self.cursor, self.cursor + self.batch_size
        if start >= self.num_data:
            raise AssertionError("NDArrayIter: the epoch is over; call reset()")
        if start < 0:
            if rolled_over is None:
                raise AssertionError("NDArrayIter: there are no samples to roll over")
            return self._joined([rolled_over, self._rows(source, 0, stop)])
        parts = [self._rows(source, start, min(stop, self.num_data))]
        if self.last_batch_handle == "pad":
            missing = stop - self.num_data
            while missing > 0:
                parts.append(self._rows(source, 0, min(missing, self.num_data)))
                missing -= self.num_data
        return self._joined(parts)

    def getdata(self) -> list[NDArray]:
        return self._batchify(self.data, self._cache and self._cache[0])

    def getlabel(self) -> list[NDArray]:
        return self._batchify(self.label, self._cache and self._cache[1]) if self.label else []

    def getpad(self) -> int:
        if self.last_batch_handle == "pad":
            return max(0, self.cursor + self.batch_size - self.num_data)
        if self.last_batch_handle == "roll_over":
            return max(0, -self.cursor)
        return 0

    def _shuffle_data(self) -> None:
        np.random.shuffle(self.idx)
        self.data = self._reordered(self.data)
        self.label = self._reordered(self.label)

    def _reordered(self, source: Source) -> Source:
        reordered = []
        for name, x in source:
            if getattr(x, "stype", "default") == "csr":
                x = nd.sparse.csr_matrix(x.asscipy()[self.idx])
            elif not _in_a_file(x):
                x = nd.array(x.asnumpy()[self.idx], ctx=x.context, dtype=x.dtype)
            reordered.append((name, x))
        return reordered
