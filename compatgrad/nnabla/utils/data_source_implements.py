"""Data sources: functions, folders of cache files, CSV files, and concatenated sources."""

from __future__ import annotations

import csv
import os
import threading
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from compatgrad.core.files import naming
from compatgrad.core.kept_memory import empty
from compatgrad.formats import archives, hdf5

from ..config import nnabla_config
from . import _npy_files
from .data_source import DataSource
from .data_source_loader import FileReader, load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_KEPT_ORDERS = 15  # the largest distance, in epochs, between slices of one source


class SimpleDataSource(DataSource):
    """Examples from a function, which is called whenever one is read.

    Args:
        load_func: `load_func(i)` returns the tuple of arrays of example i. The constructor calls it for example 0.
        num_examples: the number of examples; i is in [0, num_examples).
        shuffle: whether the order changes with every epoch.
        rng: draws the order; None for seed 313.

    Raises:
        TypeError: `load_func` is not callable, or returns an object without a length.

    Example:
        >>> from compatgrad.nnabla.utils.data_iterator import SimpleDataSource
        >>> source = SimpleDataSource(lambda i: (np.array([i]), np.array(i % 2)), num_examples=4)
        >>> source.variables, source.next()
        (['x0', 'x1'], (array([0]), array(0)))

    Source: `nnabla.utils.data_source_implements.SimpleDataSource` of nnabla 1.39.0.
    """

    def __init__(
        self,
        load_func: Callable[[int], tuple[np.ndarray, ...]],
        num_examples: int,
        shuffle: bool = False,
        rng: np.random.RandomState | None = None,
    ) -> None:
        super().__init__(shuffle=shuffle, rng=rng)
        self._load_func = load_func
        self._size = num_examples
        self._generation = 0
        self._variables = [f"x{i}" for i in range(len(load_func(0)))]
        self._orders = deque(maxlen=_KEPT_ORDERS)  # (generation, order)
        self.reset()
        self._generate_order(0)

    def _find_order(self, generation):
        return next((order for known, order in self._orders if known == generation), None)

    def _get_data(self, position):
        return self._get_data_of_generation(position, self._generation)

    def _get_data_of_generation(self, position, generation):
        order = self._find_order(generation)
        if order is None:
            raise ValueError(f"SimpleDataSource: the order of epoch {generation} is gone; slices are too far apart")
        return self._load_func(order[position])

    def apply_order(self) -> None:
        self._generation += 1
        self._generate_order(self._generation)

    def _generate_order(self, generation):
        if self._find_order(generation) is None:
            order = self._rng.permutation(self._size) if self._shuffle else np.arange(self._size)
            self._orders.append((generation, order))


_DAMAGED = (KeyError, RuntimeError)  # errors that h5py raises for damaged files, in addition to OSError


class CacheDataSource(DataSource):
    r"""Examples from files that `DataSourceWithFileCache` or `CreateCache` have written into a folder. Threads read the
    next files ahead; their number is in the section DATA_ITERATOR of the configuration.

    Args:
        cachedir: the folder's path, or its address on S3.
        shuffle: whether the order of the files, and of the examples in each, changes with every epoch.
        rng: draws the order; None for seed 313.
        normalize: whether uint8 and uint16 arrays become float32, divided by 255 and 65535.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: a file's variables differ in the number of examples.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.utils.create_cache import CreateCache
        >>> from compatgrad.nnabla.utils.data_iterator import CacheDataSource
        >>> _ = open("points.csv", "w").write("x__0,x__1\n1,2\n3,4\n")
        >>> os.mkdir("cache")
        >>> CreateCache("points.csv").create("cache")
        >>> with CacheDataSource("cache") as source:
        ...     source.variables, source.next()
        (['x'], [array([1., 2.], dtype=float32)])

    Source: `nnabla.utils.data_source_implements.CacheDataSource` of nnabla 1.39.0.
    """

    def __init__(
        self,
        cachedir: str,
        shuffle: bool = False,
        rng: np.random.RandomState | None = None,
        normalize: bool = False,
    ) -> None:
        super().__init__(shuffle=shuffle, rng=rng)
        self._cachedir = cachedir
        self._normalize = normalize
        self._filereader = FileReader(cachedir)
        self._thread_lock = threading.RLock()
        self._num_of_threads = int(nnabla_config.get("DATA_ITERATOR", "cache_file_cache_num_of_threads"))
        self._pool = ThreadPoolExecutor(self._num_of_threads) if self._num_of_threads > 0 else None
        self._loading = {}  # file name -> Future
        self._cache_files = []  # (file name, number of examples)
        self._variables = self._read_variables()
        self._cache_type = ".h5" if self._variables is None else ".npy"
        with naming(cachedir, *_DAMAGED):
            self._read_index()
        self._original_order = [(name, i) for name, length in self._cache_files for i in range(length)]
        self.reset()

    def _read_rows(self, name):
        try:
            with FileReader(os.path.join(self._cachedir, name)).open(textmode=True) as file:
                return list(csv.reader(file))
        except OSError:
            return None
        except (csv.Error, UnicodeError) as error:
            raise self._error(f"{name} cannot be read as a table: {error}") from error

    def _error(self, words):
        return ValueError(f"CacheDataSource: {self._cachedir}: {words}")

    def _read_variables(self):
        rows = self._read_rows("cache_info.csv")
        if rows is not None and not all(rows):
            raise self._error("expected the name of a variable in each line of cache_info.csv, found an empty line")
        return None if rows is None else [row[0] for row in rows]

    def _indexed(self, row):
        # The file name and the number of examples in a row of the index.
        if len(row) < 2 or not row[1].isdecimal():
            raise self._error(f"expected a file and its number of examples in cache_index.csv, found {row}"[:300])
        name, length = os.path.join(self._cachedir, row[0]), int(row[1])
        most = archives.DEFLATE if name.endswith(".h5") else 1  # examples per byte, at most
        if os.path.isdir(self._cachedir) and length > most * os.path.getsize(name):  # not on the web
            raise self._error(f"cache_index.csv announces {length} examples in {row[0]}, which is too small for them")
        return name, length

    def _read_index(self):
        rows = self._read_rows("cache_index.csv")
        if rows is not None:
            self._cache_files = [self._indexed(row) for row in rows]
            if self._variables is None and not rows:
                raise self._error("cache_index.csv is empty")
            if self._variables is None:
                with self._filereader.open_cache(self._cache_files[0][0]) as cache:
                    self._variables = list(cache.keys())
            return
        for name in self._filereader.listdir():
            with self._filereader.open_cache(name) as cache:
                lengths = {self._length(key, dataset) for key, dataset in cache.items()}
                if len(lengths) != 1:
                    raise ValueError(f"CacheDataSource: the variables in {name} differ in length")
                self._variables = self._variables or list(cache.keys())
                self._cache_files.append((name, lengths.pop()))

    def _length(self, key, dataset):
        hdf5.check(key, dataset)
        if not dataset.shape:
            raise self._error(f"expected a row for each example in {key!r}, found one value")
        return dataset.shape[0]

    def _load(self, name):
        with naming(name, *_DAMAGED):
            arrays = self._arrays(name)
        length = dict(self._cache_files)[name]
        for variable in self._variables:
            shape = np.shape(arrays.get(variable, ()))
            if not shape or shape[0] < length:
                raise self._error(f"expected {length} examples of {variable!r} in {name}, found an array of {shape}")
        return arrays

    def _arrays(self, name):
        if self._cache_type == ".npy":
            with FileReader(name).open() as file:
                return _npy_files.read_all(file, self._variables)
        with self._filereader.open_cache(name) as cache:
            return {key: hdf5.read(dataset) for key, dataset in cache.items()}

    def _load_ahead(self, name):
        # Returns the contents of the file `name`, and starts reading the next files.
        if self._pool is None:
            return self._load(name)
        future = self._loading.pop(name, None)
        at = self._file_order.index(name)
        coming = self._file_order[at + 1 : at + self._num_of_threads]
        for old in [n for n in self._loading if n not in coming]:
            self._loading.pop(old).cancel()
        for n in coming:
            if n not in self._loading:
                self._loading[n] = self._pool.submit(self._load, n)
        return self._load(name) if future is None else future.result()

    def _get_data(self, position):
        with self._thread_lock:  # slices of one source read from different threads
            self._position = position
            name, index = self._order[position]
            if name != self._current_filename:
                self._current_data = self._load_ahead(name)
                self._current_filename = name
            data = [self._current_data[variable][index] for variable in self._variables]
        return [_normalized(d) for d in data] if self._normalize else data

    def _release(self):
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def reset(self) -> None:
        with self._thread_lock:
            super().reset()
            order, names = [], []
            files = range(len(self._cache_files))
            for i in self._rng.permutation(list(files)) if self._shuffle else files:
                name, length = self._cache_files[i]
                examples = range(length)
                for j in self._rng.permutation(list(examples)) if self._shuffle else examples:
                    order.append((name, j))
                names.append(name)
            self._order, self._file_order = order, names
            self._current_data, self._current_filename = {}, None
            self._size = len(order)
            self._generation += 1


def _normalized(array):
    white = {np.dtype(np.uint8): 255.0, np.dtype(np.uint16): 65535.0}.get(array.dtype)
    if white is None:
        return array
    if not array.ndim:
        return array.astype(np.float32) * (1.0 / white)
    scaled = empty(array.shape, np.float32)
    return np.multiply(array, np.float32(1.0 / white), out=scaled, dtype=np.float32)


class CsvDataSource(DataSource):
    r"""Examples from the lines of a CSV file: numbers, or names of files that are read.

    The header names variables as NAME, or NAME__INDEX for an element of a vector, optionally followed by :LABEL.
    Columns whose name begins with # are ignored. A cell that is not a number is the path of an image, a sound, a .csv
    or a .npy file, absolute or relative to the CSV file.

    Args:
        filename: the file's path, or its address on the web or S3.
        shuffle: whether the order changes with every epoch.
        rng: draws the order; None for seed 313.
        normalize: whether images are divided by their largest possible value.

    Raises:
        FileNotFoundError: there is no such file.

    Example:
        >>> from compatgrad.nnabla.utils.data_source_implements import CsvDataSource
        >>> _ = open("points.csv", "w").write("x__0,x__1,y:label,#note\n1,2,0,first\n3,4,1,second\n")
        >>> with CsvDataSource("points.csv") as source:
        ...     source.variables, source.next()
        (('x', 'y'), ([1.0, 2.0], [0.0]))

    Source: `nnabla.utils.data_source_implements.CsvDataSource` of nnabla 1.39.0.
    """

    def __init__(
        self,
        filename: str,
        shuffle: bool = False,
        rng: np.random.RandomState | None = None,
        normalize: bool = False,
    ) -> None:
        super().__init__(shuffle=shuffle, rng=rng)
        self._filename = filename
        self._normalize = normalize
        self._filereader = FileReader(filename)
        with self._filereader.open(textmode=True, encoding="utf-8-sig") as file:
            try:
                header, *rows = csv.reader(file)
            except (csv.Error, ValueError) as error:  # ValueError: the file is empty, or is not encoded in UTF-8
                raise ValueError(f"CsvDataSource: {filename} is not a table with a header: {error}") from error
        used = [i for i, column in enumerate(header) if not column.startswith("#")]
        self._rows = [[row[i] for i in used if i < len(row)] for row in rows]
        self._columns = [self._split_name(header[i]) for i in used]
        self._variables = tuple(dict.fromkeys(variable for variable, _, _ in self._columns))
        self._size = len(self._rows)
        self._original_source_uri = filename
        self._original_order = list(range(self._size))
        self._order = list(range(self._size))
        self.reset()

    @staticmethod
    def _split_name(column):
        name, _, label = column.partition(":")
        variable, separator, index = name.partition("__")
        return variable, index if separator else None, label or None

    def _process_row(self, row):
        if len(row) != len(self._columns):
            raise ValueError(f"a line has {len(row)} columns, the header {len(self._columns)}: {','.join(row)[:80]!r}")
        values = OrderedDict()
        for (variable, index, _), text in zip(self._columns, row, strict=True):
            if index is None:
                values[variable] = self._get_value(text, is_vector=True)
            else:
                values.setdefault(variable, []).append(self._get_value(text))
        return values.values()

    def _get_value(self, value, is_vector=False):
        try:
            return [float(value)] if is_vector else float(value)
        except ValueError:
            pass
        with self._filereader.open(value) as file:
            return load(os.path.splitext(value)[1].lower())(file, normalize=self._normalize)

    def _get_data(self, position):
        with naming(self._filename):
            return tuple(self._process_row(self._rows[self._order[position]]))

    def reset(self) -> None:
        if self._shuffle:
            self._order = list(self._rng.permutation(list(range(self._size))))
        self._generation += 1
        super().reset()


class ConcatDataSource(DataSource):
    """The examples of several sources, one after the other or mixed.

    Args:
        data_source_list: the sources, which have the same variables.
        shuffle: whether the examples of all sources come in an order that changes with every epoch.
        rng: draws the order; None for seed 313.

    Raises:
        IndexError: there are no sources.

    Example:
        >>> from compatgrad.nnabla.utils.data_iterator import ConcatDataSource, SimpleDataSource
        >>> sources = [SimpleDataSource(lambda i, first=first: (np.array([first + i]),), 2) for first in (0, 10)]
        >>> both = ConcatDataSource(sources, shuffle=False)
        >>> [int(both.next()[0][0]) for _ in range(both.size)]
        [0, 1, 10, 11]

    Source: `nnabla.utils.data_source_implements.ConcatDataSource` of nnabla 1.39.0.
    """

    def __init__(
        self,
        data_source_list: Sequence[DataSource],
        shuffle: bool = True,
        rng: np.random.RandomState | None = None,
    ) -> None:
        super().__init__(shuffle=shuffle, rng=rng)
        self._data_sources = data_source_list
        self._sw_points = list(np.cumsum([source.size for source in data_source_list]))
        self._size = int(self._sw_points[-1])
        self._variables = data_source_list[0].variables
        self.reset()

    def _get_data(self, position):
        index = self._indexes[position]
        source = int(np.searchsorted(self._sw_points, index, side="right"))
        first = self._sw_points[source - 1] if source else 0
        return self._data_sources[source]._get_data(index - first)

    def reset(self) -> None:
        self._indexes = self._rng.permutation(self._size) if self._shuffle else np.arange(self._size)
        super().reset()
