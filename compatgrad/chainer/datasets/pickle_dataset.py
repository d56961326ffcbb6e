"""Datasets of pickled objects in one file."""

from __future__ import annotations

import io
import multiprocessing.util
import pickle
import threading
from typing import Any

from compatgrad.chainer.dataset import dataset_mixin


class PickleDatasetWriter:
    """Writes the file of a `PickleDataset`; a context manager that closes it.

    Args:
        writer: binary file, open for writing.
        protocol: version of the pickles.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> writer = chainer.datasets.PickleDatasetWriter(file)
        >>> writer.write((1, "a"))
        >>> chainer.datasets.PickleDataset(io.BytesIO(file.getvalue()))[0]
        (1, 'a')

    Source: `chainer.datasets.PickleDatasetWriter` of Chainer 7.8.1.
    """

    def __init__(self, writer: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
        self._positions = []
        self._writer = writer
        self._protocol = protocol

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()

    def write(self, x: Any) -> None:
        """Append an example."""
        self._positions.append(self._writer.tell())
        pickle.dump(x, self._writer, protocol=self._protocol)

    def flush(self) -> None:
        """Flush the file, where it can be."""
        if hasattr(self._writer, "flush"):
            self._writer.flush()


class PickleDataset(dataset_mixin.DatasetMixin):
    """The pickled objects in a file, loaded at each access; a context manager that closes the file. Loading a pickle
    can run any code: open only files from a source that you trust.

    Args:
        reader: binary file, open for reading, that can seek. Its method `after_fork`, where it has one, is called in
            forked processes.

    Raises:
        ValueError: `reader` cannot seek.

    Example:
        >>> with chainer.datasets.open_pickle_dataset_writer("data.pkl") as writer:
        ...     for i in range(3):
        ...         writer.write(i * i)
        >>> with chainer.datasets.open_pickle_dataset("data.pkl") as dataset:
        ...     dataset[:]
        [0, 1, 4]

    Source: `chainer.datasets.PickleDataset` of Chainer 7.8.1.
    """

    def __init__(self, reader: Any) -> None:
        if not reader.seekable():
            raise ValueError("reader must support random access")
        self._reader = reader
        self._positions = []
        reader.seek(0)
        while True:
            position = reader.tell()
            try:
                pickle.load(reader)
            except EOFError:
                break
            self._positions.append(position)
        self._start()

    def _start(self):
        self._lock = threading.RLock()
        multiprocessing.util.register_after_fork(self, PickleDataset._after_fork)

    def _after_fork(self):
        after_fork = getattr(self._reader, "after_fork", None)
        if callable(after_fork):
            after_fork()

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["_lock"]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._start()

    def close(self) -> None:
        """Close the file; the dataset cannot be used any more."""
        with self._lock:
            self._reader.close()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()

    def __len__(self):
        return len(self._positions)

    def get_example(self, index: int) -> Any:
        """The object at the index."""
        with self._lock:
            self._reader.seek(self._positions[index])
            return pickle.load(self._reader)


class _FileReader(io.RawIOBase):
    """A binary file that is opened again after fork or pickling: two processes must not share the position in it."""

    _fp = None

    def __init__(self, path):
        super().__init__()
        self._path = path
        self._open()

    def _open(self):
        self._fp = open(self._path, "rb")

    def after_fork(self):
        self._fp.close()
        self._open()

    def __getstate__(self):
        return {"_path": self._path}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._open()

    def flush(self):
        self._fp.flush()

    def close(self):
        if self._fp is not None:
            self._fp.close()

    def fileno(self):
        return self._fp.fileno()

    def seekable(self):
        return self._fp.seekable()

    def seek(self, offset, whence=io.SEEK_SET):
        return self._fp.seek(offset, whence)

    def tell(self):
        return self._fp.tell()

    def readinto(self, b):
        return self._fp.readinto(b)


def open_pickle_dataset(path: str) -> PickleDataset:
    """Opens a file of pickled objects as a dataset, which can be sent to other processes. It has to be closed, or used
    as a context manager.

    Args:
        path: path of the file.

    Returns:
        The dataset.

    Raises:
        FileNotFoundError: there is no such file.
        pickle.UnpicklingError: the file holds something else.

    Example:
        >>> with chainer.datasets.open_pickle_dataset_writer("data.pkl") as writer:
        ...     writer.write([1, 2])
        >>> with chainer.datasets.open_pickle_dataset("data.pkl") as dataset:
        ...     dataset[0]
        [1, 2]

    Source: `chainer.datasets.open_pickle_dataset` of Chainer 7.8.1.
    """
    return PickleDataset(_FileReader(path))


def open_pickle_dataset_writer(path: str, protocol: int = pickle.HIGHEST_PROTOCOL) -> PickleDatasetWriter:
    """Opens a file, whose old contents are lost, for the objects of a dataset. It has to be closed, or used as a
    context manager.

    Args:
        path: path of the file.
        protocol: version of the pickles.

    Returns:
        The writer.

    Raises:
        OSError: the file cannot be written.

    Example:
        >>> with chainer.datasets.open_pickle_dataset_writer("data.pkl") as writer:
        ...     writer.write([1, 2])
        >>> with chainer.datasets.open_pickle_dataset("data.pkl") as dataset:
        ...     len(dataset)
        1

    Source: `chainer.datasets.open_pickle_dataset_writer` of Chainer 7.8.1.
    """
    return PickleDatasetWriter(open(path, "wb"), protocol=protocol)
