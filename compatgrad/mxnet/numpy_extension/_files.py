"""Files of `mx.np` arrays: MXNet's binary format under NumPy's shape semantics, and NumPy's archives."""

from __future__ import annotations

import os
import zipfile

import numpy as onp
import torch

from compatgrad.core.files import replacing
from compatgrad.formats.npz import Archive

from ..base import MXNetError
from ..ndarray._params_file import array_of, arrays_and_names, named, read_params, stored_of, write_params
from ..numpy import ndarray
from ..numpy._docs import documented
from ..util import is_np_array, is_np_shape

__all__ = ["load", "save", "savez"]


def _need_numpy_semantics(who: str) -> None:
    if not (is_np_shape() and is_np_array()):
        raise ValueError(f"{who}: arrays of mx.np need NumPy semantics; call npx.set_np() first")


@documented
def save(file: str, arr: ndarray | list[ndarray] | dict[str, ndarray]) -> None:
    """Writes arrays to a file that MXNet reads too; it needs NumPy semantics (`npx.set_np`).

    Args:
        file: the name of the file.
        arr: an ndarray, a list of ndarrays, or a dict from names to ndarrays.

    Raises:
        ValueError: NumPy semantics are off, or `arr` is something else.
        TypeError: an element is no ndarray.
        OSError: the file cannot be written.

    Example:
        >>> mx.npx.set_np()
        >>> mx.npx.save("x.params", {"x": mx.np.ones(2)})
        >>> mx.npx.load("x.params")
        {'x': array([1., 1.])}
        >>> mx.npx.reset_np()
    """
    _need_numpy_semantics("save")
    arrays, names = arrays_and_names("save", arr, ndarray)
    write_params(os.fspath(file), [stored_of(x, np_shape=True) for x in arrays], names)


@documented
def load(file: str) -> list[ndarray] | dict[str, ndarray]:
    """The arrays in a file of `save`, `mx.nd.save` or `savez`; it needs NumPy semantics (`npx.set_np`).

    Args:
        file: the name of the file.

    Returns:
        A list of ndarrays, or a dict from names to ndarrays.

    Raises:
        ValueError: NumPy semantics are off.
        TypeError: `file` is no string.
        mxnet.base.MXNetError: the file is missing, damaged, or holds sparse arrays.

    Example:
        >>> mx.npx.set_np()
        >>> mx.npx.save("x.params", mx.np.ones(2))
        >>> mx.npx.load("x.params")
        [array([1., 1.])]
        >>> mx.npx.reset_np()
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
    return named([array_of(a, ndarray, os.fspath(file)) for a in arrays], names)


@documented
def savez(file: str, *args: ndarray, **kwargs: ndarray) -> None:
    """Writes arrays to one of NumPy's archives (.npz).

    Args:
        file: the name of the file.
        *args: ndarrays, which are named arr_0, arr_1, ….
        **kwargs: ndarrays by their names.

    Raises:
        TypeError: an argument is no ndarray.
        OSError: the file cannot be written.

    Example:
        >>> mx.npx.savez("x.npz", mx.np.ones(2), b=mx.np.zeros(1))
        >>> sorted(np.load("x.npz"))
        ['arr_0', 'b']
    """
    for i, x in enumerate((*args, *kwargs.values())):
        if not isinstance(x, ndarray):
            raise TypeError(f"savez: argument {i}: expected an mx.np.ndarray, got {type(x)}")
    with replacing(file) as stream:
        onp.savez(stream, *(x.asnumpy() for x in args), **{k: x.asnumpy() for k, x in kwargs.items()})


def _load_npz(file: str) -> dict[str, ndarray]:
    try:
        with Archive(file) as archive:
            return {k: ndarray(torch.from_numpy(onp.ascontiguousarray(a)).reshape(a.shape)) for k, a in archive.items()}
    except (ValueError, TypeError, zipfile.BadZipFile, OSError) as e:
        raise MXNetError(f"load: {file} is no readable NumPy archive: {e}") from None
