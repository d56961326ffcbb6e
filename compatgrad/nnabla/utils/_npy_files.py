"""Arrays in .npy files of data sets and caches: pickles can run code from the file, so they are refused by default."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from compatgrad.core.kept_memory import empty
from compatgrad.formats import npy

from ..config import nnabla_config
from ..core._file_errors import names_of

__all__ = ["read_all", "read_one"]

_SECTION, _OPTION = "DATA_ITERATOR", "allow_pickle"


def _read(file: Any, name: str, allow_pickle: bool | None) -> np.ndarray:
    if allow_pickle is None:
        allow_pickle = nnabla_config.getboolean(_SECTION, _OPTION)
    try:
        return npy.read_array(file, name, allow_pickle, empty)
    except ValueError as error:
        if "pickled object" not in str(error):
            raise
        raise ValueError(
            f"{error}; for data sets and caches, `{_OPTION} = True` in the section {_SECTION} of nnabla.conf allows it"
        ) from None


def read_one(file: Any, allow_pickle: bool | None = None) -> np.ndarray:
    """The array in a file, given by name or open. `allow_pickle`: None reads the configuration."""
    if isinstance(file, (str, bytes, os.PathLike)):
        with open(file, "rb") as opened:
            return _read(opened, names_of(file), allow_pickle)
    return _read(file, names_of(file), allow_pickle)


def read_all(file: Any, variables: Any) -> dict[str, np.ndarray]:
    """The arrays of a cache file, which follow each other in the file, by the names of their variables."""
    return {variable: _read(file, f"{names_of(file)}: the array of {variable!r}", None) for variable in variables}
