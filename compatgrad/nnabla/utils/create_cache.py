"""Writes cache files of a CSV data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .data_source import DataSourceWithFileCache
from .data_source_implements import CsvDataSource

if TYPE_CHECKING:
    import numpy as np


class CreateCache(CsvDataSource):
    r"""Writes the examples of a CSV file into files that `data_iterator_cache` reads.

    Args:
        input_csv_filename: the file's path or address; see `CsvDataSource` for its format.
        rng: generator of the order; None for one with seed 313.
        shuffle: whether to write the examples in a random order.
        num_of_threads: number of threads that read; None or 0 for the configuration's number.

    Raises:
        FileNotFoundError: there is no such file.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.utils.create_cache import CreateCache
        >>> _ = open("points.csv", "w").write("x__0,x__1\n1,2\n3,4\n")
        >>> os.mkdir("cache")
        >>> CreateCache("points.csv").create("cache")
        >>> sorted(os.listdir("cache"))
        ['cache_00000000_00000001.npy', 'cache_index.csv', 'cache_info.csv', 'order.csv', 'original.csv']

    Source: `nnabla.utils.create_cache.CreateCache` of nnabla 1.39.0.
    """

    def __init__(
        self,
        input_csv_filename: str,
        rng: np.random.RandomState | None = None,
        shuffle: bool = False,
        num_of_threads: int | None = None,
    ) -> None:
        super().__init__(input_csv_filename, shuffle=shuffle, rng=rng)
        self._num_of_threads = num_of_threads

    def create(self, output_cache_dirname: str, normalize: bool = True, cache_file_name_prefix: str = "cache") -> None:
        """Writes the files into the existing folder `output_cache_dirname`.

        With `normalize`, images are divided by their largest possible value. The files' names begin with
        `cache_file_name_prefix`. Raises ValueError if the examples of a variable differ in shape.
        """
        self._normalize = normalize
        _Files(self, output_cache_dirname, cache_file_name_prefix).close()


class _Files(DataSourceWithFileCache):
    def _count_threads(self):
        return self._data_source._num_of_threads or super()._count_threads()
