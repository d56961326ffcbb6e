"""Cache files of a CSV data set."""

from .data_source import DataSourceWithFileCache
from .data_source_implements import CsvDataSource


class CreateCache(CsvDataSource):
    """Writes the examples of the CSV file `input_csv_filename` into files that `data_iterator_cache` reads.

    rng, shuffle: as for `CsvDataSource`. num_of_threads: threads that read; None or 0 for the
    configuration's.
    """

    def __init__(self, input_csv_filename, rng=None, shuffle=False, num_of_threads=None):
        super().__init__(input_csv_filename, shuffle=shuffle, rng=rng)
        self._num_of_threads = num_of_threads

    def create(self, output_cache_dirname, normalize=True, cache_file_name_prefix="cache"):
        """Writes the files into the folder `output_cache_dirname`; normalize: see `CsvDataSource`."""
        self._normalize = normalize
        _Files(self, output_cache_dirname, cache_file_name_prefix).close()


class _Files(DataSourceWithFileCache):
    def _count_threads(self):
        return self._data_source._num_of_threads or super()._count_threads()
