"""Files of `mx.np` arrays: MXNet's binary format under NumPy's shape semantics, and NumPy's archives."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import numpy as onp
import torch

from compatgrad.core.files import replacing

from ..base import MXNetError
from ..ndarray._params_file import array_of, arrays_and_names, named, read_params, stored_of, write_params
from ..numpy import ndarray
from ..util import is_np_array, is_np_shape

__all__ = ["load", "save", "savez"]


def _need_numpy_semantics(who: str) -> None:
    if not (is_np_shape() and is_np_array()):
        raise ValueError(f"{who}: arrays of mx.np need NumPy semantics; call npx.set_np() first")


def save(file: str, arr: Any) -> None:
    """Writes an array, a list of arrays or a dict from names to arrays to a file that MXNet reads too.

    ValueError outside of NumPy semantics or for other data, TypeError for what is no `mx.np.ndarray`.
    """
    _need_numpy_semantics("save")
    arrays, names = arrays_and_names("save", arr, ndarray)
    write_params(os.fspath(file), [stored_of(x, np_shape=True) for x in arrays], names)


def load(file: str) -> Any:
    """The list or dict of arrays in a file of `save`, `mx.nd.save` or `savez`, as `mx.np.ndarray`.

    ValueError outside of NumPy semantics, TypeError unless `file` is a string, MXNetError for a damaged file.
    """
    _need_numpy_semantics("load")
    if not isinstance(file, (str, os.PathLike)):
        raise TypeError(f"load: file required to be a string, got {type(file)}")
    if os.path.isfile(file) and zipfile.is_zipfile(file):
        return _load_npz(os.fspath(file))
    arrays, names = read_params(os.fspath(file))
    sparse = [i for i, a in enumerate(arrays) if a.stype != "default"]
    if sparse:
        raise MXNetError(f"load: {file}: array {sparse[0]} is {arrays[sparse[0]].stype}; mx.np has dense arrays only")
    return named([array_of(a, ndarray) for a in arrays], names)


def savez(file: str, *args: Any, **kwargs: Any) -> None:
    """Writes arrays to a NumPy archive (.npz): positional ones as arr_0, arr_1 …, the others under their names."""
    for i, x in enumerate((*args, *kwargs.values())):
        if not isinstance(x, ndarray):
            raise TypeError(f"savez: argument {i}: expected an mx.np.ndarray, got {type(x)}")
    with replacing(file) as stream:
        onp.savez(stream, *(x.asnumpy() for x in args), **{k: x.asnumpy() for k, x in kwargs.items()})


def _load_npz(file: str) -> dict[str, ndarray]:
    try:
        with onp.load(file, allow_pickle=False) as archive:
            return {k: ndarray(torch.from_numpy(onp.ascontiguousarray(a)).reshape(a.shape)) for k, a in archive.items()}
    except (ValueError, TypeError, zipfile.BadZipFile, OSError) as e:
        raise MXNetError(f"load: {file} is no readable NumPy archive: {e}") from None
