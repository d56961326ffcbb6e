"""Data sources: what data iterators read. A program's own are subclasses of `DataSource`."""

import atexit
import csv
import os
import shutil
import tempfile
import threading
from multiprocessing.pool import ThreadPool

import numpy

from compatgrad.core.files import beside, replacing
from compatgrad.formats import hdf5

from ..config import nnabla_config
from ..logger import logger
from ._file_readers import FileReader
from .communicator_util import single_or_rankzero
from .progress import progress

_TRIES = 10


class DataSource:
    """Base class. A subclass sets `_size` and `_variables` and defines `_get_data(position)`.

    shuffle: whether the order of examples changes with every epoch; doing so is up to the subclass, in
    `reset`. rng: a numpy RandomState, by default one with seed 313.
    """

    def __init__(self, shuffle=False, rng=None):
        logger.info("DataSource with shuffle(%s)", shuffle)
        self._rng = numpy.random.RandomState(313) if rng is None else rng
        self._variables = None
        self._generation = -1
        self._shuffle = shuffle
        self._position = 0
        self._size = 0
        self._closed = False
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
        """Makes the order of epoch `generation`; earlier ones may still be asked for."""

    def __next__(self):
        return self.next()

    def __enter__(self):
        return self

    def __exit__(self, type, value, traceback):
        self.close()

    def close(self):
        """Gives back what is held; more calls do nothing."""
        if not self._closed:
            atexit.unregister(self.close)
            self._closed = True
            self._release()

    def _release(self):
        """What `close` does, once."""

    @property
    def order(self):
        """The examples' indices in their order, or None."""
        return self._order

    @property
    def variables(self):
        """The names of the variables."""
        return self._variables

    def next(self):
        """The next example."""
        data = self._get_data(self._position)
        self._position += 1
        return data

    @property
    def position(self):
        """How many examples of this epoch have been read."""
        return self._position

    @property
    def size(self):
        """The number of examples."""
        return self._size

    @property
    def shuffle(self):
        """Whether the order changes with every epoch."""
        return self._shuffle

    @shuffle.setter
    def shuffle(self, value):
        self._shuffle = value

    def reset(self):
        """Goes back to the first example."""
        self._position = 0

    def apply_order(self):
        """Called when a batch is complete and an epoch ended in it."""


class DataSourceWithFileCacheError(Exception):
    """The cache cannot be made."""


class DataSourceWithFileCache(DataSource):
    """Another source's examples, copied into files at first and read from these.

    data_source: a DataSource. cache_dir: the files' folder, kept afterwards; None for a temporary one.
    cache_file_name_prefix: how the files' names begin. shuffle, rng: as for `DataSource`; files and examples
    within each are shuffled. The configuration's section DATA_ITERATOR has the examples per file, the number
    of threads that read the source, and the format, .npy or .h5.
    """

    def __init__(self, data_source, cache_dir=None, cache_file_name_prefix="cache", shuffle=False, rng=None):
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
            logger.warning("The data source gave no example at %d.", position)
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
                with open(os.path.join(self._cache_dir, "original.csv"), "wb") as file:
                    shutil.copyfileobj(original, file)
        if source._order is not None and source._original_order is not None:
            self._write_csv("order.csv", zip(source._original_order, source._order, strict=False))

    def _write_csv(self, name, rows):
        with open(os.path.join(self._cache_dir, name), "w") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def _save_cache_to_file(self, start, examples):
        columns = {}
        for i, name in enumerate(self._variables):
            values = [example[i] for example in examples]
            values = [v if isinstance(v, numpy.ndarray) else numpy.array(v, numpy.float32) for v in values]
            shapes = {v.shape for v in values}
            if len(shapes) > 1:
                raise ValueError(f"DataSourceWithFileCache: the examples of {name!r} differ in shape: {sorted(shapes)}")
            columns[name] = numpy.array(values)
        name = f"{self._cache_file_name_prefix}_{start:08d}_{start + len(examples) - 1:08d}"
        name = os.path.join(self._cache_dir, name + self._cache_file_format)
        logger.info("Creating cache file %s", name)
        if self._cache_file_format == ".h5":
            with beside(name) as target, hdf5.h5py().File(target, "w") as file:
                for key, column in columns.items():
                    file.create_dataset(key, data=column)
        else:
            with replacing(name) as file:
                for column in columns.values():
                    numpy.save(file, column)
        self._cache_file_names.append(name)
        self._cache_file_data_orders.append(list(range(len(examples))))

    def _create_cache_file_position_table(self):
        # position -> number of the file, number of the example in it
        self._table = [
            (file, example) for file in self._cache_file_order for example in self._cache_file_data_orders[file]
        ]
        self._order = [example + file * self._cache_size for file, example in self._table]

    def _load(self, file):
        name = self._cache_file_names[file]
        if self._cache_file_format == ".npy":
            with open(name, "rb") as npy:
                return {variable: numpy.load(npy, allow_pickle=True) for variable in self._variables}
        with hdf5.h5py().File(name, "r") as h5:
            return {key: dataset[()] for key, dataset in h5.items()}

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

    def reset(self):
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
    """Another source's examples, kept in memory once they are read, if all of them are small enough.

    The limit is `data_source_buffer_max_size` bytes in the configuration's section DATA_ITERATOR.
    data_source: a DataSource. shuffle, rng: as for `DataSource`.
    """

    def __init__(self, data_source, shuffle=False, rng=None):
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
            array = numpy.array(value, numpy.float32) if isinstance(value, list) else numpy.asarray(value)
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

    def reset(self):
        if not self._on_memory:
            self._data_source.reset()
            self._generation = self._data_source._generation
        else:
            # The first epoch reads the source in its own order; the order after that is drawn here.
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
    """The examples of another source from `slice_start` to before `slice_end`."""

    def __init__(self, data_source, shuffle=False, rng=None, slice_start=None, slice_end=None):
        super().__init__(shuffle, rng)
        logger.info("Using SlicedDataSource")
        self._data_source, self._first = data_source, slice_start
        self._size = slice_end - slice_start
        self._variables = data_source._variables[:]
        self._generation = 0

    def reset(self):
        self._position = 0
        self._data_source.reset()
        self._data_source._position = self._first

    def apply_order(self):
        """Goes on to the order of the next epoch."""
        self._generation += 1
        self._data_source._generate_order(self._generation)

    def _get_data(self, position):
        self._position = position
        return self._data_source._get_data_of_generation(self._first + position, self._generation)
