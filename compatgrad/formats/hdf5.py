"""HDF5 files, by the package h5py."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import secrets
from collections.abc import Iterator
from typing import Any

from compatgrad.core.files import beside, naming
from compatgrad.formats.archives import DEFLATE

__all__ = ["check", "creating", "datasets", "h5py", "opening", "read"]

SLACK = 1 << 20  # bytes by which a dataset may exceed the largest size that its file can contain compressed


def h5py() -> Any:
    """The package h5py.

    Returns:
        The module.

    Raises:
        ImportError: h5py is not installed; the message says what to install.

    Example:
        >>> from compatgrad.formats.hdf5 import h5py
        >>> h5py().__name__
        'h5py'

    Source: `compatgrad/formats/hdf5.py`.
    """
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise ImportError("HDF5 files (.h5) need the package h5py: pip install h5py") from error


@contextlib.contextmanager
def creating(file: Any) -> Iterator[Any]:
    """Creates an HDF5 file, which is written if the block ends without an exception. It is built in memory, because
    HDF5 crashes the process if it cannot write to the disk.

    Args:
        file: path of the file, or a binary file open for writing.

    Yields:
        The `h5py.File`.

    Raises:
        ImportError: h5py is not installed.
        OSError: the file cannot be written.

    Example:
        >>> import io
        >>> from compatgrad.formats import hdf5
        >>> out = io.BytesIO()
        >>> with hdf5.creating(out) as file:
        ...     dataset = file.create_dataset("x", data=[1, 2])
        >>> out.getvalue()[1:4]
        b'HDF'

    Source: `compatgrad/formats/hdf5.py`.
    """
    named = isinstance(file, (str, bytes, os.PathLike))
    with beside(os.fsdecode(file)) if named else contextlib.nullcontext() as target:
        # a name can be open only once at a time
        name = f"{os.fsdecode(file) if named else 'memory'}-{secrets.token_hex(8)}"
        with h5py().File(name, "w", driver="core", backing_store=False) as h5:
            yield h5
            h5.flush()
            image = h5.id.get_file_image()
        if target is None:
            file.write(image)
        else:
            with open(target, "wb") as out:
                out.write(image)


@contextlib.contextmanager
def opening(file: Any) -> Iterator[Any]:
    """Opens an HDF5 file for reading.

    Args:
        file: path of the file, or a binary file open for reading.

    Yields:
        The `h5py.File`.

    Raises:
        ImportError: h5py is not installed.
        FileNotFoundError: there is no such file.
        OSError: the file is not an HDF5 file, or is damaged; the message names it.

    Example:
        >>> import io
        >>> from compatgrad.formats import hdf5
        >>> out = io.BytesIO()
        >>> with hdf5.creating(out) as file:
        ...     dataset = file.create_dataset("x", data=[1, 2])
        >>> with hdf5.opening(out) as file:
        ...     list(file)
        ['x']

    Source: `compatgrad/formats/hdf5.py`.
    """
    with naming(file, RuntimeError, to=OSError), h5py().File(file, "r") as h5:
        yield h5


def datasets(file: Any) -> list[tuple[str, Any]]:
    """The datasets of an open file. Links to other files are not followed.

    Args:
        file: an `h5py.File` or group.

    Returns:
        Pairs of a name, with slashes, and a dataset.

    Raises:
        AttributeError: `file` is not a file of h5py.

    Example:
        >>> import io
        >>> from compatgrad.formats import hdf5
        >>> with hdf5.creating(io.BytesIO()) as file:
        ...     dataset = file.create_dataset("l1/W", data=[1, 2])
        ...     [(name, found.shape) for name, found in hdf5.datasets(file)]
        [('l1/W', (2,))]

    Source: `compatgrad/formats/hdf5.py`.
    """

    def note(name: Any, item: Any) -> None:
        if not isinstance(name, str):
            raise ValueError(f"the name {name!r} is not UTF-8")
        if isinstance(item, kind):
            found.append((name, item))

    found: list[tuple[str, Any]] = []
    kind = h5py().Dataset
    file.visititems(note)
    return found


def check(name: str, dataset: Any, size: int | None = None) -> None:
    """Compares the announced size of a dataset with its file, before the dataset is read.

    Args:
        name: the name of the dataset in errors.
        dataset: the `h5py.Dataset`.
        size: size of the file in bytes; None reads it from the file.

    Raises:
        ValueError: the data are in another file, or the file is too small for them.

    Example:
        >>> import io
        >>> from compatgrad.formats import hdf5
        >>> with hdf5.creating(io.BytesIO()) as file:
        ...     dataset = file.create_dataset("x", (1 << 40,), "f4", chunks=(1 << 20,))
        ...     try:
        ...         hdf5.check("x", dataset, 1000)
        ...     except ValueError as error:
        ...         print(error)
        'x' announces shape (1099511627776,) of float32; 0 bytes cannot hold that

    Source: `compatgrad/formats/hdf5.py`.
    """
    if not isinstance(dataset, h5py().Dataset):
        raise ValueError(f"expected a dataset at {name!r}, found a group")
    if dataset.is_virtual or dataset.id.get_create_plist().get_external_count():
        raise ValueError(f"the data of {name!r} are in another file")
    itemsize = dataset.dtype.itemsize
    for what, shape in (("shape", dataset.shape), ("chunks", dataset.chunks or ())):
        announced = math.prod(shape or ()) * itemsize
        if announced <= SLACK:
            continue
        stored = min(dataset.id.get_storage_size(), dataset.file.id.get_filesize() if size is None else size)
        if announced > DEFLATE * stored + SLACK:
            raise ValueError(f"{name!r} announces {what} {shape} of {dataset.dtype}; {stored} bytes cannot hold that")


def read(dataset: Any) -> Any:
    """Checks a dataset by `check`, and reads its elements.

    Args:
        dataset: the `h5py.Dataset`.

    Returns:
        The array, or the element of a dataset without axes.

    Raises:
        ValueError: the data are in another file, the file is too small for them, or they are damaged.

    Example:
        >>> import io
        >>> from compatgrad.formats import hdf5
        >>> with hdf5.creating(io.BytesIO()) as file:
        ...     hdf5.read(file.create_dataset("x", data=[1, 2]))
        array([1, 2])

    Source: `compatgrad/formats/hdf5.py`.
    """
    check(dataset.name, dataset)
    try:
        return dataset[()]
    except (OSError, TypeError, RuntimeError, MemoryError) as error:
        raise ValueError(f"{dataset.name!r} cannot be read: {error}") from error
