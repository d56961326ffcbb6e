"""Data iterators, which return minibatches from data sources without end."""

from __future__ import annotations

import atexit
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from compatgrad.core.kept_memory import empty

from ..logger import logger
from .data_source import (
    DataSourceWithFileCache,
    DataSourceWithMemoryCache,
    SlicedDataSource,
    _ClosedOnce,
)
from .data_source_implements import (
    CacheDataSource,
    ConcatDataSource,
    CsvDataSource,
    SimpleDataSource,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .data_source import DataSource


_LARGE = 1 << 18  # bytes from which on new memory of the system takes longer than the copy into it


class DataIterator(_ClosedOnce):
    """Endless minibatches of `batch_size` examples from a data source.

    `next()`, or iteration, returns a tuple with one numpy array per variable, whose first axis is the batch. A batch
    may contain examples of two epochs. An iterator is closed by `close`, or at the end of a `with` block.

    Args:
        data_source (DataSource): the source of the examples and their order.
        batch_size: the number of examples in a batch.
        rng: has no effect; data sources draw the order.
        use_thread: whether a thread reads the next batch while the program uses the last one.
        epoch_begin_callbacks: functions of the epoch's number, called by `next` at the start of an epoch.
        epoch_end_callbacks: functions of the epoch's number, called by `next` at the end of an epoch.
        stop_exhausted: whether `next` raises StopIteration if fewer than `batch_size` examples are left in the first
            epoch.

    Raises:
        AttributeError: `data_source` is not a DataSource.

    Example:
        >>> from compatgrad.nnabla.utils.data_iterator import DataIterator, SimpleDataSource
        >>> source = SimpleDataSource(lambda i: (np.array([i]), np.array([i * i])), num_examples=3)
        >>> with DataIterator(source, batch_size=2, use_thread=False) as batches:
        ...     x, y = batches.next()
        >>> x.tolist(), y.tolist()
        ([[0], [1]], [[0], [1]])

    Source: `nnabla.utils.data_iterator.DataIterator` of nnabla 1.39.0.
    """

    def __init__(
        self,
        data_source: DataSource,
        batch_size: int,
        rng: np.random.RandomState | None = None,
        use_thread: bool = True,
        epoch_begin_callbacks: Iterable[Callable[[int], Any]] = (),
        epoch_end_callbacks: Iterable[Callable[[int], Any]] = (),
        stop_exhausted: bool = False,
    ) -> None:
        logger.info("Using DataIterator")
        self._rng = np.random.RandomState(313) if rng is None else rng
        self._stop_exhausted = stop_exhausted
        self._data_source = data_source
        self._shuffle = data_source.shuffle
        self._variables = data_source.variables
        self._batch_size = batch_size
        self._epoch_begin_callbacks = list(epoch_begin_callbacks)
        self._epoch_end_callbacks = list(epoch_end_callbacks)
        self._size = data_source.size
        self._current_epoch = 0
        self._reset()
        self._use_thread = use_thread
        self._thread = ThreadPoolExecutor(1) if use_thread else None
        self._prefetch()
        atexit.register(self.close)

    def __iter__(self):
        return self

    def _release(self):
        if self._thread is not None:
            self._thread.shutdown()
        self._data_source.close()

    @property
    def epoch(self) -> int:
        """The number of completed epochs."""
        return self._current_epoch

    @property
    def position(self) -> int:
        """The number of examples of this epoch that have been read, including the batch that is read ahead."""
        return self._data_source.position

    @property
    def size(self) -> int:
        """The number of examples in an epoch."""
        return self._size

    @property
    def variables(self) -> Sequence[str]:
        """The names of the variables."""
        return self._variables

    @property
    def batch_size(self) -> int:
        """The number of examples in a batch."""
        return self._batch_size

    def _reset(self):
        self._data_source.reset()

    def _prefetch(self):
        if self._thread is not None:
            self._pending = self._thread.submit(self._next)

    def _next(self):
        # Reads a batch. Returns it and the number of epochs that ended in it; None where there is no batch.
        source = self._data_source
        if self._stop_exhausted and source.position + self._batch_size > self._size:
            return None, 0
        ended = 0
        examples = []
        for _ in range(self._batch_size):
            example = source.next()
            if example is None:
                return None, 0
            examples.append(example)
            if source.position >= self._size and not self._stop_exhausted:
                ended += 1
                self._reset()
        if ended:
            source.apply_order()
        batch = tuple(_joined([example[i] for example in examples]) for i in range(len(self._variables)))
        return batch, ended

    def next(self) -> tuple[np.ndarray, ...]:
        """The next batch: a tuple of arrays (batch_size, ...), one for each variable.

        Raises:
            StopIteration: with `stop_exhausted`, where fewer than `batch_size` examples are left.
            ValueError: the examples of a variable differ in shape.
        """
        batch, ended = self._pending.result() if self._thread else self._next()
        if batch is None:
            if self._stop_exhausted and self._data_source.position + self._batch_size >= self._size:
                raise StopIteration
            logger.warning("The data source returned no example; trying again.")
            batch, ended = self._next()
        self._prefetch()
        for _ in range(ended):
            self._call(self._epoch_end_callbacks)
            self._current_epoch += 1
            self._call(self._epoch_begin_callbacks)
        return batch

    def _call(self, callbacks):
        for callback in callbacks:
            callback(self._current_epoch)

    def register_epoch_end_callback(self, callback: Callable[[int], Any]) -> None:
        """Registers `callback(epoch)` to be called at the end of each epoch."""
        self._epoch_end_callbacks.append(callback)

    def register_epoch_begin_callback(self, callback: Callable[[int], Any]) -> None:
        """Registers `callback(epoch)` to be called at the start of each epoch after the first."""
        self._epoch_begin_callbacks.append(callback)

    def _slice_range(self, parts, part, drop_last):
        if drop_last:
            length = self._size // parts
            start = length * part
        else:  # parts of equal size, so that some examples are in two parts
            length = -(-self._size // parts)
            start = min(length * part % self._size, self._size - length)
        return start, start + length

    def slice(
        self,
        rng: np.random.RandomState | None,
        num_of_slices: int | None = None,
        slice_pos: int | None = None,
        slice_start: int | None = None,
        slice_end: int | None = None,
        cache_dir: str | None = None,
        use_cache: bool = False,
        drop_last: bool = False,
    ) -> DataIterator | None:
        """A new iterator over a part of the examples, which is selected by its number or by a range. In distributed
        training, each process reads one part.

        Args:
            rng: generator of the order of a cache's examples; None for one with seed 313.
            num_of_slices: number of parts of equal size into which the examples are divided.
            slice_pos: the number of the part, from 0.
            slice_start: the first example of a range.
            slice_end: the end of the range, which is not included.
            cache_dir: the folder of the cache's files, by default that of the source's own cache.
            use_cache: whether to cache the part in memory, and also in files if there is a folder.
            drop_last: whether to leave out examples where the number of examples is not a multiple of the number of
                parts; otherwise some examples are in two parts.

        Returns:
            The iterator; None, with a message in the log, where neither or both of a part's number and a range are
            given.
        """
        by_part = num_of_slices is not None and slice_pos is not None
        by_range = slice_start is not None and slice_end is not None
        given = sum(x is not None for x in (num_of_slices, slice_pos, slice_start, slice_end))
        if given != 2 or not (by_part or by_range):
            logger.critical("slice: give num_of_slices and slice_pos, or slice_start and slice_end.")
            return None
        if by_part:
            slice_start, slice_end = self._slice_range(num_of_slices, slice_pos, drop_last)
        source = self._data_source
        part = SlicedDataSource(source, source.shuffle, slice_start=slice_start, slice_end=slice_end)
        while cache_dir is None and hasattr(source, "_data_source"):
            cache_dir = getattr(source, "_cache_dir", None)
            source = source._data_source
        if use_cache:
            if cache_dir is not None:
                part = DataSourceWithFileCache(
                    part,
                    cache_dir=cache_dir,
                    cache_file_name_prefix=f"cache_sliced_{slice_start:08d}_{slice_end:08d}",
                    shuffle=self._shuffle,
                    rng=rng,
                )
            part = DataSourceWithMemoryCache(part, shuffle=self._shuffle, rng=rng)
        return DataIterator(part, self._batch_size)


def _joined(values):
    """The values of a variable in a batch as one array, a large one in the memory of an earlier batch."""
    first = values[0]
    if type(first) is not np.ndarray or first.nbytes * len(values) < _LARGE or first.dtype.kind not in "biuf":
        return np.array(values)
    if any(type(v) is not np.ndarray or v.shape != first.shape or v.dtype != first.dtype for v in values):
        return np.array(values)
    return np.stack(values, out=empty((len(values), *first.shape), first.dtype))


def data_iterator(
    data_source: DataSource,
    batch_size: int,
    rng: np.random.RandomState | None = None,
    use_thread: bool = True,
    with_memory_cache: bool = True,
    with_file_cache: bool = False,
    cache_dir: str | None = None,
    epoch_begin_callbacks: Iterable[Callable[[int], Any]] = (),
    epoch_end_callbacks: Iterable[Callable[[int], Any]] = (),
    stop_exhausted: bool = False,
) -> DataIterator:
    """A `DataIterator` over a data source, with optional caches.

    Args:
        data_source (DataSource): the source of the examples.
        batch_size: the number of examples in a batch.
        rng: generator of the order of a cache; None for one with seed 313.
        use_thread: whether a thread reads the next batch while the program uses the last one.
        with_memory_cache: whether to keep the examples in memory, if all together are small enough.
        with_file_cache: whether to copy all examples to files first.
        cache_dir: the folder of these files, which is kept; None for a temporary one.
        epoch_begin_callbacks: functions of the epoch's number, called at the start of an epoch.
        epoch_end_callbacks: functions of the epoch's number, called at the end of an epoch.
        stop_exhausted: whether the iterator stops before the first batch that the first epoch cannot fill completely.

    Returns:
        The iterator.

    Raises:
        AttributeError: `data_source` is not a DataSource.

    Example:
        >>> from compatgrad.nnabla.utils.data_iterator import SimpleDataSource, data_iterator
        >>> source = SimpleDataSource(lambda i: (np.float32(i),), num_examples=4)
        >>> batches = data_iterator(source, 2, use_thread=False, stop_exhausted=True)
        >>> [x.tolist() for x, in batches]
        [[0.0, 1.0], [2.0, 3.0]]

    Source: `nnabla.utils.data_iterator.data_iterator` of nnabla 1.39.0.
    """
    if with_file_cache:
        data_source = DataSourceWithFileCache(data_source, cache_dir=cache_dir, shuffle=data_source.shuffle, rng=rng)
    if with_memory_cache:
        data_source = DataSourceWithMemoryCache(data_source, shuffle=data_source.shuffle, rng=rng)
    return DataIterator(
        data_source,
        batch_size,
        use_thread=use_thread,
        epoch_begin_callbacks=epoch_begin_callbacks,
        epoch_end_callbacks=epoch_end_callbacks,
        stop_exhausted=stop_exhausted,
    )


def data_iterator_simple(
    load_func: Callable[[int], tuple[np.ndarray, ...]],
    num_examples: int,
    batch_size: int,
    shuffle: bool = False,
    rng: np.random.RandomState | None = None,
    use_thread: bool = True,
    with_memory_cache: bool = False,
    with_file_cache: bool = False,
    cache_dir: str | None = None,
    epoch_begin_callbacks: Iterable[Callable[[int], Any]] = (),
    epoch_end_callbacks: Iterable[Callable[[int], Any]] = (),
    stop_exhausted: bool = False,
) -> DataIterator:
    """A `DataIterator` over a function that returns one example at a time.

    Args:
        load_func: `load_func(i)` returns the tuple of arrays of example i.
        num_examples: the number of examples; i is in [0, num_examples).
        batch_size: the number of examples in a batch.
        shuffle: whether the order changes with every epoch.
        rng: draws the order; None for seed 313.
        use_thread: whether a thread reads the next batch while the program uses the last one.
        with_memory_cache: whether to keep the examples in memory, if all together are small enough.
        with_file_cache: whether to copy all examples to files first.
        cache_dir: the folder of these files, which is kept; None for a temporary one.
        epoch_begin_callbacks: functions of the epoch's number, called at the start of an epoch.
        epoch_end_callbacks: functions of the epoch's number, called at the end of an epoch.
        stop_exhausted: whether the iterator stops before the first batch that the first epoch cannot fill completely.

    Returns:
        The iterator.

    Raises:
        TypeError: `load_func` is not callable, or returns an object without a length.

    Example:
        >>> from compatgrad.nnabla.utils.data_iterator import data_iterator_simple
        >>> examples = lambda i: (np.full(2, i), np.array(i % 2))
        >>> batches = data_iterator_simple(examples, 4, batch_size=3, use_thread=False)
        >>> x, label = batches.next()
        >>> x.shape, label.tolist()
        ((3, 2), [0, 1, 0])
        >>> batches.next()[1].tolist()  # the last example, and the first two of the next epoch
        [1, 0, 1]

    Source: `nnabla.utils.data_iterator.data_iterator_simple` of nnabla 1.39.0.
    """
    return data_iterator(
        SimpleDataSource(load_func, num_examples, shuffle=shuffle, rng=rng),
        batch_size,
        None,
        use_thread,
        with_memory_cache,
        with_file_cache,
        cache_dir,
        epoch_begin_callbacks,
        epoch_end_callbacks,
        stop_exhausted,
    )


def data_iterator_csv_dataset(
    uri: str,
    batch_size: int,
    shuffle: bool = False,
    rng: np.random.RandomState | None = None,
    use_thread: bool = True,
    normalize: bool = True,
    with_memory_cache: bool = True,
    with_file_cache: bool = True,
    cache_dir: str | None = None,
    epoch_begin_callbacks: Iterable[Callable[[int], Any]] = (),
    epoch_end_callbacks: Iterable[Callable[[int], Any]] = (),
    stop_exhausted: bool = False,
) -> DataIterator:
    r"""A `DataIterator` over a CSV file; see `CsvDataSource` for its format.

    Args:
        uri: the file's path, or its address on the web or S3.
        batch_size: the number of examples in a batch.
        shuffle: whether the order changes with every epoch.
        rng: draws the order; None for seed 313.
        use_thread: whether a thread reads the next batch while the program uses the last one.
        normalize: whether to divide images by their largest possible value.
        with_memory_cache: whether to keep the examples in memory, if all together are small enough.
        with_file_cache: whether to copy all examples to files first.
        cache_dir: the folder of these files, which is kept; None for a temporary one.
        epoch_begin_callbacks: functions of the epoch's number, called at the start of an epoch.
        epoch_end_callbacks: functions of the epoch's number, called at the end of an epoch.
        stop_exhausted: whether the iterator stops before the first batch that the first epoch cannot fill completely.

    Returns:
        The iterator.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line has more or fewer columns than the header.

    Example:
        >>> from compatgrad.nnabla.utils.data_iterator import data_iterator_csv_dataset
        >>> _ = open("points.csv", "w").write("x__0,x__1,y:label\n1,2,0\n3,4,1\n")
        >>> with data_iterator_csv_dataset("points.csv", 2, use_thread=False, with_file_cache=False) as batches:
        ...     x, y = batches.next()
        >>> batches.variables, x.tolist(), y.tolist()
        (('x', 'y'), [[1.0, 2.0], [3.0, 4.0]], [[0.0], [1.0]])

    Source: `nnabla.utils.data_iterator.data_iterator_csv_dataset` of nnabla 1.39.0.
    """
    return data_iterator(
        CsvDataSource(uri, shuffle=shuffle, rng=rng, normalize=normalize),
        batch_size,
        None,
        use_thread,
        with_memory_cache,
        with_file_cache,
        cache_dir,
        epoch_begin_callbacks,
        epoch_end_callbacks,
        stop_exhausted,
    )


def data_iterator_cache(
    uri: str,
    batch_size: int,
    shuffle: bool = False,
    rng: np.random.RandomState | None = None,
    use_thread: bool = True,
    normalize: bool = True,
    with_memory_cache: bool = True,
    epoch_begin_callbacks: Iterable[Callable[[int], Any]] = (),
    epoch_end_callbacks: Iterable[Callable[[int], Any]] = (),
    stop_exhausted: bool = False,
) -> DataIterator:
    r"""A `DataIterator` over a folder of cache files, written by `CreateCache` or by a data source with a file cache.

    Args:
        uri: the folder's path, or its address on S3.
        batch_size: the number of examples in a batch.
        shuffle: whether the order of the files, and of the examples in each, changes with every epoch.
        rng: draws the order; None for seed 313.
        use_thread: whether a thread reads the next batch while the program uses the last one.
        normalize: whether uint8 and uint16 arrays become float32 in [0, 1].
        with_memory_cache: whether to keep the examples in memory, if all together are small enough.
        epoch_begin_callbacks: functions of the epoch's number, called at the start of an epoch.
        epoch_end_callbacks: functions of the epoch's number, called at the end of an epoch.
        stop_exhausted: whether the iterator stops before the first batch that the first epoch cannot fill completely.

    Returns:
        The iterator.

    Raises:
        FileNotFoundError: there is no such folder.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.utils.create_cache import CreateCache
        >>> from compatgrad.nnabla.utils.data_iterator import data_iterator_cache
        >>> _ = open("points.csv", "w").write("x__0,x__1\n1,2\n3,4\n")
        >>> os.mkdir("cache")
        >>> CreateCache("points.csv").create("cache")
        >>> with data_iterator_cache("cache", 2, use_thread=False) as batches:
        ...     x, = batches.next()
        >>> x
        array([[1., 2.],
               [3., 4.]], dtype=float32)

    Source: `nnabla.utils.data_iterator.data_iterator_cache` of nnabla 1.39.0.
    """
    return data_iterator(
        CacheDataSource(uri, shuffle=shuffle, rng=rng, normalize=normalize),
        batch_size,
        None,
        use_thread,
        with_memory_cache,
        epoch_begin_callbacks=epoch_begin_callbacks,
        epoch_end_callbacks=epoch_end_callbacks,
        stop_exhausted=stop_exhausted,
    )


def data_iterator_concat_datasets(
    data_source_list: Sequence[DataSource],
    batch_size: int,
    shuffle: bool = False,
    rng: np.random.RandomState | None = None,
    use_thread: bool = True,
    with_memory_cache: bool = True,
    with_file_cache: bool = False,
    cache_dir: str | None = None,
    epoch_begin_callbacks: Iterable[Callable[[int], Any]] = (),
    epoch_end_callbacks: Iterable[Callable[[int], Any]] = (),
    stop_exhausted: bool = False,
) -> DataIterator:
    """A `DataIterator` over several data sources, one after the other or, with `shuffle`, mixed.

    Args:
        data_source_list: the sources, which have the same variables.
        batch_size: the number of examples in a batch.
        shuffle: whether to mix the examples of all sources, in an order that changes with every epoch.
        rng: draws the order; None for seed 313.
        use_thread: whether a thread reads the next batch while the program uses the last one.
        with_memory_cache: whether to keep the examples in memory, if all together are small enough.
        with_file_cache: whether to copy all examples to files first.
        cache_dir: the folder of these files, which is kept; None for a temporary one.
        epoch_begin_callbacks: functions of the epoch's number, called at the start of an epoch.
        epoch_end_callbacks: functions of the epoch's number, called at the end of an epoch.
        stop_exhausted: whether the iterator stops before the first batch that the first epoch cannot fill completely.

    Returns:
        The iterator.

    Raises:
        IndexError: the list of sources is empty.

    Example:
        >>> from compatgrad.nnabla.utils.data_iterator import SimpleDataSource, data_iterator_concat_datasets
        >>> sources = [SimpleDataSource(lambda i, first=first: (np.int64(first + i),), 2) for first in (0, 10)]
        >>> data_iterator_concat_datasets(sources, batch_size=4, use_thread=False).next()
        (array([ 0,  1, 10, 11]),)

    Source: `nnabla.utils.data_iterator.data_iterator_concat_datasets` of nnabla 1.39.0.
    """
    return data_iterator(
        ConcatDataSource(data_source_list, shuffle=shuffle, rng=rng),
        batch_size,
        None,
        use_thread,
        with_memory_cache,
        with_file_cache,
        cache_dir,
        epoch_begin_callbacks,
        epoch_end_callbacks,
        stop_exhausted,
    )
