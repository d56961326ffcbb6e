"""NumPy's archives of arrays (.npz), without its pickles.

Chainer stores a parameter without a value as an object array of None, which NumPy pickles. `Archive` recognises that
without unpickling and refuses every other pickle unless it is told ``allow_pickle=True``.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["Archive", "is_pickled_none"]


class Archive(Mapping[str, np.ndarray]):
    """The arrays of `file`, a name or a binary file; errors tell which file and which entry.

    zipfile.BadZipFile for what is no archive or is damaged, ValueError for pickles unless `allow_pickle`.
    """

    def __init__(self, file: Any, allow_pickle: bool = False) -> None:
        self.name = repr(getattr(file, "name", file))
        if isinstance(file, (str, os.PathLike)):
            with open(file, "rb") as f:
                signature = f.read(4)
        else:
            signature = file.read(4)
            file.seek(-len(signature), os.SEEK_CUR)
        # numpy.load takes whatever is no archive for a pickle, and would advise to allow that.
        if signature not in (b"PK\x03\x04", b"PK\x05\x06"):
            raise zipfile.BadZipFile(f"{self.name} is not an npz archive")
        try:
            self._npz = np.load(file, allow_pickle=allow_pickle)
        except zipfile.BadZipFile as e:
            raise zipfile.BadZipFile(f"{self.name} is truncated or damaged: {e}") from e
        self.files, self.zip = self._npz.files, self._npz.zip

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: Any) -> None:
        self._npz.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __contains__(self, key: object) -> bool:
        return key in self._npz

    def __getitem__(self, key: str) -> np.ndarray:
        try:
            array: np.ndarray = self._npz[key]
            return array
        except KeyError:
            raise KeyError(f"{key!r} is not in {self.name}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError) as e:
            raise zipfile.BadZipFile(f"{key!r} in {self.name} is truncated or damaged: {e}") from e
        except ValueError as e:
            payload = self.pickled(key)
            if payload is None:
                raise ValueError(f"{key!r} in {self.name} cannot be read: {e}") from e
            if not is_pickled_none(payload):
                raise ValueError(
                    f"{key!r} in {self.name} is a pickled object: allow_pickle=True loads it, "
                    "and runs code that the file contains"
                ) from None
            return np.asarray(None)

    def pickled(self, key: str) -> bytes | None:
        """The pickle of an entry, or None if it holds something else."""
        name = key if key in self.zip.namelist() else key + ".npy"
        with self.zip.open(name) as f:
            if np.lib.format.read_magic(f) != (1, 0):  # the format of every header that is short and ASCII
                return None
            _, _, dtype = np.lib.format.read_array_header_1_0(f)
            return f.read() if dtype.hasobject else None


class _Part:
    """Stands for whatever a pickle makes, and does nothing."""

    state: Any = None

    def __init__(self, *args: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Inspector(pickle.Unpickler):
    """Unpickles the structure alone: nothing that the pickle names is imported or called."""

    def find_class(self, module: str, name: str) -> type:
        return _Part


def is_pickled_none(payload: bytes) -> bool:
    """Whether a pickle is that of `numpy.asarray(None)`; nothing that it names is imported or called."""
    try:
        array = _Inspector(io.BytesIO(payload)).load()
    except Exception:  # a damaged pickle fails in any way
        return False
    # The state of an array: version, shape, dtype, order, elements.
    state = getattr(array, "state", None)
    return isinstance(state, tuple) and len(state) == 5 and state[1] == () and state[4] == [None]
