"""Data iterators: endless minibatches from data sources."""

import atexit
from concurrent.futures import ThreadPoolExecutor

import numpy

from ..logger import logger
from .data_source import (
    DataSourceWithFileCache,
    DataSourceWithMemoryCache,
    SlicedDataSource,
)
from .data_source_implements import (
    CacheDataSource,
    ConcatDataSource,
    CsvDataSource,
    SimpleDataSource,
)


class DataIterator:
    """Minibatches of `batch_size` examples from `data_source`, without end.

    `next()`, or iteration, gives a tuple with one numpy array per variable, examples along the first axis. A
    batch may reach into the next epoch.

    rng: kept for compatibility; sources draw the order. use_thread: a thread reads the next batch while the
    last one is used. epoch_begin_callbacks, epoch_end_callbacks: functions of the epoch's number, called by
    `next`. stop_exhausted: raises StopIteration where fewer than batch_size examples are left in the first
    epoch.
    """

    def __init__(
        self,
        data_source,
        batch_size,
        rng=None,
        use_thread=True,
        epoch_begin_callbacks=(),
        epoch_end_callbacks=(),
        stop_exhausted=False,
    ):
        logger.info("Using DataIterator")
        self._rng = numpy.random.RandomState(313) if rng is None else rng
        self._stop_exhausted = stop_exhausted
        self._data_source = data_source
        self._shuffle = data_source.shuffle
        self._variables = data_source.variables
        self._batch_size = batch_size
        self._epoch_begin_callbacks = list(epoch_begin_callbacks)
        self._epoch_end_callbacks = list(epoch_end_callbacks)
        self._size = data_source.size
        self._current_epoch = 0
        self._closed = False
        self._reset()
        self._use_thread = use_thread
        self._thread = ThreadPoolExecutor(1) if use_thread else None
        self._prefetch()
        atexit.register(self.close)

    def __iter__(self):
        return self

    def __next__(self):
        return self.next()

    def __enter__(self):
        return self

    def __exit__(self, type, value, traceback):
        self.close()

    def close(self):
        """Ends the thread and closes the data source; more calls do nothing."""
        if not self._closed:
            atexit.unregister(self.close)
            if self._thread is not None:
                self._thread.shutdown()
            self._data_source.close()
            self._closed = True

    @property
    def epoch(self):
        """The number of epochs that are complete."""
        return self._current_epoch

    @property
    def position(self):
        """How many examples of this epoch the source has given; the batch read ahead is counted."""
        return self._data_source.position

    @property
    def size(self):
        """The number of examples in an epoch."""
        return self._size

    @property
    def variables(self):
        """The names of the variables."""
        return self._variables

    @property
    def batch_size(self):
        """The number of examples in a batch."""
        return self._batch_size

    def _reset(self):
        self._data_source.reset()

    def _prefetch(self):
        if self._thread is not None:
            self._pending = self._thread.submit(self._next)

    def _next(self):
        # a batch and the number of epochs that ended in it; None where there is no batch
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
        batch = tuple(numpy.array([example[i] for example in examples]) for i in range(len(self._variables)))
        return batch, ended

    def next(self):
        """The next batch: a tuple of numpy arrays. StopIteration at the end, with stop_exhausted."""
        batch, ended = self._pending.result() if self._thread else self._next()
        if batch is None:
            if self._stop_exhausted and self._data_source.position + self._batch_size >= self._size:
                raise StopIteration
            logger.warning("The data source gave no example; trying again.")
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

    def register_epoch_end_callback(self, callback):
        """Has `callback(epoch)` called at the end of each epoch."""
        self._epoch_end_callbacks.append(callback)

    def register_epoch_begin_callback(self, callback):
        """Has `callback(epoch)` called at the beginning of each epoch after the first."""
        self._epoch_begin_callbacks.append(callback)

    def _slice_range(self, parts, part, drop_last):
        if drop_last:
            length = self._size // parts
            start = length * part
        else:  # parts of equal size; some examples are in two of them
            length = -(-self._size // parts)
            start = min(length * part % self._size, self._size - length)
        return start, start + length

    def slice(
        self,
        rng,
        num_of_slices=None,
        slice_pos=None,
        slice_start=None,
        slice_end=None,
        cache_dir=None,
        use_cache=False,
        drop_last=False,
    ):
        """A new iterator over a part of the examples, by part number or by range.

        num_of_slices, slice_pos: part `slice_pos` of that many equal parts; where they do not come out even,
        drop_last leaves examples out, else some are in two parts. slice_start, slice_end: a range. use_cache,
        cache_dir: whether the part is cached in memory, and also in files where a folder is given or the
        source has one. Returns None, after a line in the log, unless exactly one of both is given.
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


def data_iterator(
    data_source,
    batch_size,
    rng=None,
    use_thread=True,
    with_memory_cache=True,
    with_file_cache=False,
    cache_dir=None,
    epoch_begin_callbacks=(),
    epoch_end_callbacks=(),
    stop_exhausted=False,
):
    """A `DataIterator` over `data_source`, with caches.

    rng: draws the order where a cache does. with_memory_cache: examples stay in memory if they are small
    enough. with_file_cache: examples are copied to files at first, in cache_dir, or in a temporary folder
    where that is None. The other arguments are those of `DataIterator`.
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
    load_func,
    num_examples,
    batch_size,
    shuffle=False,
    rng=None,
    use_thread=True,
    with_memory_cache=False,
    with_file_cache=False,
    cache_dir=None,
    epoch_begin_callbacks=(),
    epoch_end_callbacks=(),
    stop_exhausted=False,
):
    """A `DataIterator` over a function: `load_func(i)` gives the tuple of arrays of example i < num_examples.

    shuffle: whether the order changes with every epoch. The other arguments are those of `data_iterator`.
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
    uri,
    batch_size,
    shuffle=False,
    rng=None,
    use_thread=True,
    normalize=True,
    with_memory_cache=True,
    with_file_cache=True,
    cache_dir=None,
    epoch_begin_callbacks=(),
    epoch_end_callbacks=(),
    stop_exhausted=False,
):
    """A `DataIterator` over a CSV file, a path or an address; see `CsvDataSource`.

    shuffle: whether the order changes with every epoch. normalize: images are divided by their largest
    value. The other arguments are those of `data_iterator`.
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
    uri,
    batch_size,
    shuffle=False,
    rng=None,
    use_thread=True,
    normalize=True,
    with_memory_cache=True,
    epoch_begin_callbacks=(),
    epoch_end_callbacks=(),
    stop_exhausted=False,
):
    """A `DataIterator` over the folder `uri` of cache files; see `CacheDataSource`.

    shuffle: whether the order changes with every epoch. normalize: uint8 and uint16 arrays become float32 in
    [0, 1]. The other arguments are those of `data_iterator`.
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
    data_source_list,
    batch_size,
    shuffle=False,
    rng=None,
    use_thread=True,
    with_memory_cache=True,
    with_file_cache=False,
    cache_dir=None,
    epoch_begin_callbacks=(),
    epoch_end_callbacks=(),
    stop_exhausted=False,
):
    """A `DataIterator` over several data sources, one after the other or, with `shuffle`, mixed.

    The other arguments are those of `data_iterator`.
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
