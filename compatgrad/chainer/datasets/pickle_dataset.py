"""Datasets of pickled objects in one file."""

import io
import multiprocessing.util
import pickle
import threading

from compatgrad.chainer.dataset import dataset_mixin


class PickleDatasetWriter:
    """Writes the file of a `PickleDataset`. `writer`: file like object; `protocol`: of `pickle`."""

    def __init__(self, writer, protocol=pickle.HIGHEST_PROTOCOL):
        self._positions = []
        self._writer = writer
        self._protocol = protocol

    def close(self):
        """Close the file."""
        self._writer.close()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()

    def write(self, x):
        """Append an example."""
        self._positions.append(self._writer.tell())
        pickle.dump(x, self._writer, protocol=self._protocol)

    def flush(self):
        """Flush the file, where it can be."""
        if hasattr(self._writer, "flush"):
            self._writer.flush()


class PickleDataset(dataset_mixin.DatasetMixin):
    """Dataset of the pickled objects in a file, loaded at each access. Loading pickles runs what they say.

    `reader`: file like object; ValueError where it is not seekable. Its method ``after_fork``, where there
    is one, is called in forked processes.
    """

    def __init__(self, reader):
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

    def close(self):
        """Close the file; the dataset cannot be used any more."""
        with self._lock:
            self._reader.close()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()

    def __len__(self):
        return len(self._positions)

    def get_example(self, index):
        with self._lock:
            self._reader.seek(self._positions[index])
            return pickle.load(self._reader)


class _FileReader(io.RawIOBase):
    """A binary file that is opened again after fork or pickling: positions must not be shared."""

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


def open_pickle_dataset(path):
    """Open the `PickleDataset` in a file. Close it, or use it as a context."""
    return PickleDataset(_FileReader(path))


def open_pickle_dataset_writer(path, protocol=pickle.HIGHEST_PROTOCOL):
    """Open a `PickleDatasetWriter` for a file. Close it, or use it as a context."""
    return PickleDatasetWriter(open(path, "wb"), protocol=protocol)
