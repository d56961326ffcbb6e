"""NumPy's archives of arrays (.npz), read without unpickling.

Chainer stores a parameter without a value as an object array of None, which NumPy pickles. `Archive` recognizes this
pickle without unpickling it, and refuses every other pickle unless ``allow_pickle=True``.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import pickletools
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np

from compatgrad.formats import archives, npy

__all__ = ["Archive", "is_pickled_none"]

NONE_PICKLED = 4096  # bytes; NumPy's pickle of None has less than 200


class Archive(Mapping[str, np.ndarray]):
    """The arrays of an archive. Before an array is unpacked, its announced size is compared with the file; errors name
    the file and the entry.

    Args:
        file: path of the file, or a binary file open for reading.
        allow_pickle: True unpickles objects in the archive, which runs code that the file contains.

    Raises:
        FileNotFoundError: there is no such file.
        zipfile.BadZipFile: the file is not an archive, or is damaged; damaged entries raise it when they are read.
        ValueError: when an entry is read, it is not an array, or it is a pickle and `allow_pickle` is False.
        KeyError: when an entry is read, it does not exist.

    Example:
        >>> import io
        >>> import numpy as np
        >>> from compatgrad.formats.npz import Archive
        >>> file = io.BytesIO()
        >>> np.savez(file, x=np.array([1, 2]))
        >>> _ = file.seek(0)
        >>> with Archive(file) as archive:
        ...     {name: array.tolist() for name, array in archive.items()}
        {'x': [1, 2]}

    Source: `compatgrad/formats/npz.py`.
    """

    def __init__(self, file: Any, allow_pickle: bool = False) -> None:
        self.name = repr(getattr(file, "name", file))
        if isinstance(file, (str, os.PathLike)):
            with open(file, "rb") as f:
                signature = f.read(4)
        else:
            signature = file.read(4)
            file.seek(-len(signature), os.SEEK_CUR)
        if signature not in (b"PK\x03\x04", b"PK\x05\x06"):
            raise zipfile.BadZipFile(f"{self.name} is not an npz archive")
        self._allow_pickle = allow_pickle
        self._announced: dict[str, tuple[tuple[int, ...], np.dtype]] = {}  # of entries that were asked for
        self._archive = archives.Zip(file, self.name)
        self._members = {name.removesuffix(".npy"): name for name in self._archive.names}
        self.files, self.names = list(self._members), self._archive.names

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: Any) -> None:
        self._archive.__exit__()

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __contains__(self, key: object) -> bool:
        return key in self._members or (isinstance(key, str) and key.removesuffix(".npy") in self._members)

    def _member(self, key: str) -> str:
        if key not in self:
            raise KeyError(f"{key!r} is not in {self.name}")
        return self._members.get(key) or self._members[key.removesuffix(".npy")]

    @contextlib.contextmanager
    def _open(self, key: str) -> Iterator[IO[bytes]]:
        what = f"{key!r} in {self.name}"
        with self._archive.open(self._member(key)) as file:
            try:
                yield file
            except ValueError as error:
                if str(error).startswith(what):
                    raise
                raise ValueError(f"{what} cannot be read: {error}") from error
            except archives.DAMAGED as error:
                if str(error).startswith(what):
                    raise
                raise zipfile.BadZipFile(f"{what} is truncated or damaged: {error}") from error

    def announced(self, key: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of an entry, without unpacking it."""
        if key in self._announced:
            return self._announced[key]
        what = f"{key!r} in {self.name}"
        with self._open(key) as file:
            shape, dtype = npy.read_header(file, what)
            left = self._archive.member(self._member(key)).file_size - file.tell()
        if not dtype.hasobject and left != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{what} of shape {shape} and type {dtype} has {left} bytes, which do not fit")
        self._announced[key] = shape, dtype
        return shape, dtype

    def __getitem__(self, key: str) -> np.ndarray:
        _, dtype = self.announced(key)
        if dtype.hasobject and not self._allow_pickle:
            payload = self.pickled(key)
            if payload is not None and is_pickled_none(payload):
                return np.asarray(None)
            raise ValueError(
                f"{key!r} in {self.name} is a pickled object: allow_pickle=True loads it, and runs code that the file "
                "contains"
            )
        with self._open(key) as file:
            array = np.lib.format.read_array(file, allow_pickle=self._allow_pickle)
            file.read(1)  # makes zipfile compare the checksum
        return np.asarray(array)

    def pickled(self, key: str) -> bytes | None:
        """The pickle of an entry; None if the entry is not a pickle or is larger than NumPy's pickle of None."""
        with self._open(key) as file:
            _, dtype = npy.read_header(file, f"{key!r} in {self.name}")
            payload = file.read(NONE_PICKLED + 1) if dtype.hasobject else b""
        return payload if 0 < len(payload) <= NONE_PICKLED else None


class _Part:
    """Replaces every object that a pickle creates, and does nothing."""

    state: Any = None

    def __init__(self, *args: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Inspector(pickle.Unpickler):
    """Unpickles only the structure: nothing that the pickle names is imported or called."""

    def find_class(self, module: str, name: str) -> type:
        return _Part


def _is_small(payload: bytes) -> bool:
    """Whether no opcode of a pickle contains a large number, because the unpickler allocates memory up to an index."""
    try:
        arguments = [argument for _, argument, _ in pickletools.genops(payload)]
    except Exception:  # a damaged pickle may fail with any error
        return False
    return len(payload) <= NONE_PICKLED and all(abs(n) < NONE_PICKLED for n in arguments if isinstance(n, int))


def is_pickled_none(payload: bytes) -> bool:
    """Whether a pickle is that of `numpy.asarray(None)`. Nothing that it names is imported or called.

    Args:
        payload: the pickle.

    Returns:
        True if it is; False for other pickles and for other bytes.

    Raises:
        TypeError: `payload` is not bytes.

    Example:
        >>> import numpy as np
        >>> import pickle
        >>> from compatgrad.formats.npz import is_pickled_none
        >>> is_pickled_none(pickle.dumps(np.asarray(None))), is_pickled_none(pickle.dumps([None]))
        (True, False)

    Source: `compatgrad/formats/npz.py`.
    """
    if not _is_small(payload):
        return False
    try:
        array = _Inspector(io.BytesIO(payload)).load()
    except Exception:  # a damaged pickle may fail with any error
        return False
    # The state of an array: version, shape, dtype, order, elements.
    state = getattr(array, "state", None)
    return isinstance(state, tuple) and len(state) == 5 and state[1] == () and state[4] == [None]
