"""HDF5 files, by the package h5py."""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
from collections.abc import Iterator
from typing import Any

from compatgrad.core.files import beside

__all__ = ["creating", "datasets", "h5py"]


def h5py() -> Any:
    """The package. ImportError, which says what to install, without it."""
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise ImportError("HDF5 files (.h5) need the package h5py: pip install h5py") from error


@contextlib.contextmanager
def creating(file: Any) -> Iterator[Any]:
    """An h5py.File to fill, which is written to `file`, a name or a binary file, where the block ends without an error.

    It is put together in memory: HDF5 ends the process where it cannot write to the disk.
    """
    named = isinstance(file, (str, bytes, os.PathLike))
    with beside(os.fsdecode(file)) if named else contextlib.nullcontext() as target:
        name = f"{os.fsdecode(file) if named else 'memory'}-{secrets.token_hex(8)}"  # one name is open once at a time
        with h5py().File(name, "w", driver="core", backing_store=False) as h5:
            yield h5
            h5.flush()
            image = h5.id.get_file_image()
        if target is None:
            file.write(image)
        else:
            with open(target, "wb") as out:
                out.write(image)


def datasets(file: Any) -> list[tuple[str, Any]]:
    """Names and datasets of an open file; links to other files are not followed."""
    found: list[tuple[str, Any]] = []
    kind = h5py().Dataset
    file.visititems(lambda name, item: found.append((name, item)) if isinstance(item, kind) else None)
    return found
