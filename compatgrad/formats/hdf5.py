"""HDF5 files, by the package h5py."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["datasets", "h5py"]


def h5py() -> Any:
    """The package. ImportError, which says what to install, without it."""
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise ImportError("HDF5 files (.h5) need the package h5py: pip install h5py") from error


def datasets(file: Any) -> list[tuple[str, Any]]:
    """Names and datasets of an open file; links to other files are not followed."""
    found: list[tuple[str, Any]] = []
    kind = h5py().Dataset
    file.visititems(lambda name, item: found.append((name, item)) if isinstance(item, kind) else None)
    return found
