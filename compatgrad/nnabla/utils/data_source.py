"""Data sources, from which data iterators read. Programs define their own as subclasses of `DataSource`."""

from __future__ import annotations

import atexit
import csv
import os
import shutil
import tempfile
import threading
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING

import numpy as np

from compatgrad.core import files
from compatgrad.formats import hdf5

from ..config import nnabla_config
from ..logger import logger
from . import _npy_files
from ._file_readers import FileReader
from .communicator_util import single_or_rankzero
from .progress import progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_TRIES = 10


class _ClosedOnce:
    """Base class of iterators that are closed once: by `close`, at the end of a `with` block, or at the end of the
    program."""

    _closed = False

    def __next__(self):
        return self.next()

    def __enter__(self):
        return self

    def __exit__(self, type, value, traceback):
        self.close()

    def close(self) -> None:
        """Releases files, threads and folders; further calls do nothing."""
        if not self._closed:
            atexit.unregister(self.close)
            self._closed = True
            self._release()

    def _release(self):
        """Called by the first `close`."""


class DataSource(_ClosedOnce):
    """Base class of data sources, which return examples by position.

    A subclass sets `_size`, the number of examples, and `_variables`, their names, and defines `_get_data(position)`,
    which returns an example as a tuple of arrays. Where `shuffle` is set, its `reset` makes the order of the next
    epoch.

    Args:
        shuffle: whether the order of examples changes with every epoch.
        rng: draws the order; None for seed 313.

    Example:
        >>> from compatgrad.nnabla.utils.data_source import DataSource
        >>> class Squares(DataSource):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self._size, self._variables = 3, ("x", "y")
        ...     def _get_data(self, position):
        ...         return np.array(position), np.array(position**2)
        >>> with Squares() as source:
        ...     [tuple(map(int, source.next())) for _ in range(source.size)]
        [(0, 0), (1, 1), (2, 4)]

    Source: `nnabla.utils.data_source.DataSource` of nnabla 1.39.0.
    """

    def __init__(self, shuffle: bool = False, rng: np.random.RandomState | None = None) -> None:
        logger.info("DataSource with shuffle(%s)", shuffle)
        self._rng = np.random.RandomState(313) if rng is None else rng
        self._variables = None
        self._generation = -1
        self._shuffle = shuffle
        self._position = 0
        self._size = 0
        self._order = None
        self._original_order = None
        self._original_source_uri = None
        atexit.register(self.close)

    def _get_data(self, position):
        """The example at `position`: a tuple with one array per variable."""

    def _get_data_of_generation(self, position, generation):
        """The example at `position` in the order of epoch `generation`."""
        return self._get_data(position)

    def _generate_order(self, generation):
        """Makes the order of epoch `generation`; orders of earlier epochs may still be needed."""

    @property
    def order(self) -> Sequence[Any] | None:
        """The indices of the examples in the current order, or None."""
        return self._order

    @property
    def variables(self) -> Sequence[str] | None:
        """The names of the variables."""
        return self._variables

    def next(self) -> Sequence[Any]:
        """Returns the example at the current position, a sequence with one array per variable, and advances the
        position."""
        data = self._get_data(self._position)
        self._position += 1
        return data

    @property
    def position(self) -> int:
        """The number of examples of this epoch that have been read."""
        return self._position

    @property
    def size(self) -> int:
        """The number of examples."""
        return self._size

    @property
    def shuffle(self) -> bool:
        """Whether the order changes with every epoch."""
        return self._shuffle

    @shuffle.setter
    def shuffle(self, value):
        self._shuffle = value

    def reset(self) -> None:
        """Goes back to the first example."""
        self._position = 0

    def apply_order(self) -> None:
        """Called after a batch in which an epoch ended."""


class DataSourceWithFileCacheError(Exception):
    """The source of a file cache returned no example ten times.

    Example:
        >>> from compatgrad.nnabla.utils.data_source import DataSourceWithFileCacheError
        >>> raise DataSourceWithFileCacheError("no example at position 3")
        Traceback (most recent call last):
            ...
        compatgrad.nnabla.utils.data_source.DataSourceWithFileCacheError: no example at position 3

    Source: `nnabla.utils.data_source.DataSourceWithFileCacheError` of nnabla 1.39.0.
    """


class DataSourceWithFileCache(DataSource):
    """The examples of another source, which are first copied into files and then read from the files.

    The configuration's section DATA_ITERATOR has the number of examples per file, the number of threads that read the
    source, and the files' format, .npy or .h5.

    Args:
        data_source (DataSource): the source of the examples. The examples of a variable must have the same shape.
        cache_dir: the folder of the files, which is kept; None for a temporary one.
        cache_file_name_prefix: prefix of the files' names.
        shuffle: whether the order of the files, and of the examples in each, changes with every epoch.
        rng: draws the order; None for seed 313.

    Raises:
        DataSourceWithFileCacheError: the source returns None for an example ten times.
        ValueError: the examples of a variable differ in shape.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.utils.data_iterator import SimpleDataSource
        >>> from compatgrad.nnabla.utils.data_source import DataSourceWithFileCache
        >>> os.mkdir("files")
        >>> source = DataSourceWithFileCache(SimpleDataSource(lambda i: (np.array([i]),), 3), cache_dir="files")
        >>> sorted(os.listdir("files"))
        ['cache_00000000_00000002.npy', 'cache_index.csv', 'cache_info.csv']
        >>> source.next()
        [array([0])]

    Source: `nnabla.utils.data_source.DataSourceWithFileCache` of nnabla 1.39.0.
    """

    def __init__(
        self,
        data_source: DataSource,
        cache_dir: str | None = None,
        cache_file_name_prefix: str = "cache",
        shuffle: bool = False,
        rng: np.random.RandomState | None = None,
    ) -> None:
        logger.info("Using DataSourceWithFileCache")
        super().__init__(shuffle=shuffle, rng=rng)
        self._cache_file_name_prefix = cache_file_name_prefix
        self._cache_size = int(nnabla_config.get("DATA_ITERATOR", "data_source_file_cache_size"))
        self._cache_file_format = nnabla_config.get("DATA_ITERATOR", "cache_file_format")
        self._thread_lock = threading.Lock()
        self._data_source = data_source
        self._num_of_threads = self._count_threads()
        self._size = data_source._size
        self._variables = data_source.variables
        self._original_order = list(range(self._size))
        self._tempdir_created = cache_dir is None
        if cache_dir is None:
            location = nnabla_config.get("DATA_ITERATOR", "data_source_file_cache_location")
            cache_dir = tempfile.mkdtemp(dir=location or None)
        self._cache_dir = cache_dir
        logger.info("Cache Directory is %s", cache_dir)
        self._cache_file_names = []
        self._cache_file_data_orders = []
        self._current_cache_file_index = -1
        self._current_cache_data = None
        self._create_cache()
        self._cache_file_order = list(range(len(self._cache_file_names)))
        self._create_cache_file_position_table()

    def _count_threads(self):
        return int(nnabla_config.get("DATA_ITERATOR", "data_source_file_cache_num_of_threads"))

    def _read_example(self, position):
        for _ in range(_TRIES):
            data = self._data_source._get_data(position)
            if data is not None:
                return data
            logger.warning("The data source returned no example at %d.", position)
        raise DataSourceWithFileCacheError(f"DataSourceWithFileCache: no example at position {position}")

    def _create_cache(self):
        report = single_or_rankzero()
        with ThreadPool(max(1, self._num_of_threads)) as pool:
            for start in range(0, self._size, self._cache_size):
                if report:
                    progress("Create cache", start / self._size)
                stop = min(start + self._cache_size, self._size)
                self._save_cache_to_file(start, pool.map(self._read_example, range(start, stop)))
        if report:
            progress(None)
        self._write_csv(
            "cache_index.csv",
            [
                (os.path.basename(name), len(order))
                for name, order in zip(self._cache_file_names, self._cache_file_data_orders, strict=True)
            ],
        )
        if self._cache_file_format == ".npy":
            self._write_csv("cache_info.csv", [(variable,) for variable in self._variables])
        source = self._data_source
        if source._original_source_uri is not None:
            with FileReader(source._original_source_uri).open() as original:
                with files.replacing(os.path.join(self._cache_dir, "original.csv")) as file:
                    shutil.copyfileobj(original, file)
        if source._order is not None and source._original_order is not None:
            self._write_csv("order.csv", zip(source._original_order, source._order, strict=False))

    def _write_csv(self, name, rows):
        with files.replacing(os.path.join(self._cache_dir, name), "w") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def _save_cache_to_file(self, start, examples):
        columns = {}
        for i, name in enumerate(self._variables):
            values = [example[i] for example in examples]
            values = [v if isinstance(v, np.ndarray) else np.array(v, np.float32) for v in values]
            shapes = {v.shape for v in values}
            if len(shapes) > 1:
                raise ValueError(f"DataSourceWithFileCache: the examples of {name!r} differ in shape: {sorted(shapes)}")
            columns[name] = np.array(values)
        name = f"{self._cache_file_name_prefix}_{start:08d}_{start + len(examples) - 1:08d}"
        name = os.path.join(self._cache_dir, name + self._cache_file_format)
        logger.info("Creating cache file %s", name)
        if self._cache_file_format == ".h5":
            with hdf5.creating(name) as file:
                for key, column in columns.items():
                    file.create_dataset(key, data=column)
        else:
            with files.replacing(name) as file:
                for column in columns.values():
                    np.save(file, column)
        self._cache_file_names.append(name)
        self._cache_file_data_orders.append(list(range(len(examples))))

    def _create_cache_file_position_table(self):
        # Maps a position to the number of the file and the number of the example in it.
        self._table = [
            (file, example) for file in self._cache_file_order for example in self._cache_file_data_orders[file]
        ]
        self._order = [example + file * self._cache_size for file, example in self._table]

    def _load(self, file):
        name = self._cache_file_names[file]
        if self._cache_file_format == ".npy":
            with open(name, "rb") as npy:
                return _npy_files.read_all(npy, self._variables)
        with hdf5.opening(name) as h5:
            return {key: hdf5.read(dataset) for key, dataset in h5.items()}

    def _get_data(self, position):
        with self._thread_lock:
            self._position = position
            file, example = self._table[position]
            if self._current_cache_file_index != file:
                self._current_cache_data = self._load(file)
                self._current_cache_file_index = file
            return [self._current_cache_data[variable][example] for variable in self._variables]

    def _release(self):
        if self._tempdir_created:
            shutil.rmtree(self._cache_dir, ignore_errors=True)
        self._data_source.close()

    def reset(self) -> None:
        with self._thread_lock:
            if self._shuffle:
                self._cache_file_order = list(self._rng.permutation(self._cache_file_order))
                self._cache_file_data_orders = [
                    list(self._rng.permutation(order)) for order in self._cache_file_data_orders
                ]
            self._create_cache_file_position_table()
            self._data_source.reset()
            self._position = 0
            self._generation += 1


class DataSourceWithMemoryCache(DataSource):
    """The examples of another source, which are kept in memory after they have been read, if all together are small
    enough.

    The limit is `data_source_buffer_max_size` bytes in the configuration's section DATA_ITERATOR; all examples are
    assumed to have the size of the first one.

    Args:
        data_source (DataSource): the source of the examples.
        shuffle: whether the order changes with every epoch.
        rng: draws the order; None for seed 313.

    Raises:
        AttributeError: `data_source` is not a DataSource.

    Example:
        >>> from compatgrad.nnabla.utils.data_iterator import SimpleDataSource
        >>> from compatgrad.nnabla.utils.data_source import DataSourceWithMemoryCache
        >>> source = DataSourceWithMemoryCache(SimpleDataSource(lambda i: (np.array([i]),), 3))
        >>> source.next(), source.size
        ((array([0]),), 3)

    Source: `nnabla.utils.data_source.DataSourceWithMemoryCache` of nnabla 1.39.0.
    """

    def __init__(
        self,
        data_source: DataSource,
        shuffle: bool = False,
        rng: np.random.RandomState | None = None,
    ) -> None:
        logger.info("Using DataSourceWithMemoryCache")
        super().__init__(shuffle=shuffle, rng=rng)
        self._size = data_source._size
        self._variables = data_source.variables
        self._data_source = data_source
        self._order = list(range(self._size))
        self._cache = []
        self._buffer_max_size = int(nnabla_config.get("DATA_ITERATOR", "data_source_buffer_max_size"))
        self._data_size = 0
        for value in self._get_data_func(0):
            array = np.array(value, np.float32) if isinstance(value, list) else np.asarray(value)
            self._data_size += array.nbytes
        self._on_memory = self._data_size * self._size < self._buffer_max_size
        if self._on_memory:
            logger.info("On-memory")

    def _get_data_func(self, position):
        return self._data_source._get_data(position)

    def _get_data(self, position):
        if self._on_memory and self._order[position] < len(self._cache):
            data = self._cache[self._order[position]]
        else:
            data = self._get_data_func(position)
            if self._on_memory:
                self._cache.append(data)
        self._position = position
        return data

    def _release(self):
        self._data_source.close()

    def reset(self) -> None:
        if not self._on_memory:
            self._data_source.reset()
            self._generation = self._data_source._generation
        else:
            # The first epoch has the source's own order; this class draws the later orders.
            self._generation += 1
            if self._shuffle and self._generation > 0:
                self._order = list(self._rng.permutation(self._size))
            else:
                self._order = list(range(self._size))
            if self._position == 0:
                self._generation = -1
            else:
                self._data_source._position = self._position
                self._data_source.reset()
        super().reset()


class SlicedDataSource(DataSource):
    """The examples [slice_start, slice_end) of another source.

    Args:
        data_source (DataSource): the source of the examples.
        shuffle: value of the property `shuffle`; the other source draws the order.
        rng: has no effect.
        slice_start: the first example's number.
        slice_end: the last example's number plus 1.

    Raises:
        TypeError: `slice_start` or `slice_end` is not given.

    Example:
        >>> from compatgrad.nnabla.utils.data_iterator import SimpleDataSource
        >>> from compatgrad.nnabla.utils.data_source import SlicedDataSource
        >>> part = SlicedDataSource(SimpleDataSource(lambda i: (np.array([i]),), 6), slice_start=2, slice_end=5)
        >>> part.size, part.next()
        (3, (array([2]),))

    Source: `nnabla.utils.data_source.SlicedDataSource` of nnabla 1.39.0.
    """

    def __init__(
        self,
        data_source: DataSource,
        shuffle: bool = False,
        rng: np.random.RandomState | None = None,
        slice_start: int | None = None,
        slice_end: int | None = None,
    ) -> None:
        super().__init__(shuffle, rng)
        logger.info("Using SlicedDataSource")
        self._data_source, self._first = data_source, slice_start
        self._size = slice_end - slice_start
        self._variables = data_source._variables[:]
        self._generation = 0

    def reset(self) -> None:
        self._position = 0
        self._data_source.reset()
        self._data_source._position = self._first

    def apply_order(self) -> None:
        """Advances to the order of the next epoch."""
        self._generation += 1
        self._data_source._generate_order(self._generation)

    def _get_data(self, position):
        self._position = position
        return self._data_source._get_data_of_generation(self._first + position, self._generation)
