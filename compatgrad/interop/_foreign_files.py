"""Reads the frameworks' parameter files by the frontends' readers, with additional checks.

The readers raise an error for a damaged file, but some of them allocate the size that a header announces before they
check whether the file can contain it. So the announced sizes are compared with the size of the file here, before a
reader is called.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from compatgrad.core.arrays import shareable
from compatgrad.formats import archives, params
from compatgrad.formats import hdf5 as hdf5_format
from compatgrad.formats.npz import Archive, is_pickled_none

__all__ = ["Entry", "Refused", "hdf5", "mxnet_params", "nnabla_file", "nnabla_nnp", "npz"]

SPARSE = 1 << 26  # bytes that a sparse array may take in dense form, for a file of any size


class Refused(ValueError):
    """The error for an entry that is not a tensor; the text says what it is."""


class Entry(NamedTuple):
    """A name in a file; `load` returns the tensor, or None for a parameter without a value. It may raise `Refused`."""

    name: str
    load: Callable[[], torch.Tensor | None]


def as_tensor(array: Any) -> torch.Tensor:
    """The tensor of a NumPy array or scalar, with its shape. Raises Refused if torch does not have its dtype."""
    array = np.asarray(array)
    _check_type(array.dtype)
    return torch.from_numpy(shareable(array)).contiguous()


def _check_type(dtype: np.dtype) -> None:
    if dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8) and dtype.names is None:
        return
    kind = {"U": "text", "S": "text", "O": "objects"}.get(dtype.kind, "a type that tensors do not have")
    raise Refused(f"expected numbers, found {kind} ({dtype})")


# ---- zip archives -----------------------------------------------------------------------------------------------
def npz(path: str) -> Iterator[Entry]:
    """The entries of a .npz archive, such as Chainer's."""
    with Archive(path) as archive:
        for name in archive.names:
            if not name.endswith(".npy"):
                raise ValueError(f"expected arrays (.npy) in the archive, found {name!r}")
        for name in (member.removesuffix(".npy") for member in archive.names):
            yield Entry(name, partial(_array_of, archive, name))


def _array_of(archive: Archive, name: str) -> torch.Tensor | None:
    _, dtype = archive.announced(name)
    if dtype.hasobject:
        if is_pickled_none(archive.pickled(name) or b""):
            return None
        raise Refused("expected numbers, found pickled Python objects, which are never loaded")
    _check_type(dtype)
    return as_tensor(archive[name])


# ---- HDF5 -------------------------------------------------------------------------------------------------------
def _check_dataset(name: str, dataset: Any, size: int) -> None:
    """Raises ValueError for a dataset that is in another file or cannot have its announced size.

    Raises Refused if it does not contain numbers.
    """
    _check_type(dataset.dtype)
    hdf5_format.check(name, dataset, size)


def _check_nnabla_h5(file: Any, size: int) -> None:
    """Raises ValueError for datasets with which nnabla's reader would allocate too much memory."""
    with hdf5_format.h5py().File(file, "r") as opened:
        for name, dataset in hdf5_format.datasets(opened):
            if dataset.shape is None:
                raise ValueError(f"parameter {name!r} has no value")
            try:
                _check_dataset(name, dataset, size)
            except Refused as error:
                raise ValueError(f"parameter {name!r}: {error}") from None


def hdf5(path: str) -> Iterator[Entry]:
    """The entries of a .h5 file, of nnabla if its datasets say `need_grad`, else of Chainer."""
    size = os.path.getsize(path)
    with hdf5_format.h5py().File(path, "r") as file:
        datasets = hdf5_format.datasets(file)
        if not any("need_grad" in dataset.attrs for _, dataset in datasets):
            yield from _chainer_h5(datasets, size)
            return
    _check_nnabla_h5(path, size)
    yield from nnabla_file(path, ".h5")


def _chainer_h5(datasets: list[tuple[str, Any]], size: int) -> Iterator[Entry]:
    def load(name: str, dataset: Any) -> torch.Tensor | None:
        if dataset.shape is None:
            return None
        _check_dataset(name, dataset, size)
        return as_tensor(dataset)

    for name, dataset in datasets:
        yield Entry(name, partial(load, name, dataset))


# ---- nnabla -----------------------------------------------------------------------------------------------------
def nnabla_file(path: str, extension: str) -> Iterator[Entry]:
    """The parameters of a file of nnabla; `extension` names its format."""
    from compatgrad.nnabla.utils import _parameter_files, nnabla_pb2

    try:
        records = _parameter_files.read(path, nnabla_pb2.NNablaProtoBuf(), extension)
    except (OSError, ValueError) as error:  # the reader's message names the file, which the caller does again
        cause = error.__cause__
        raise ValueError(str(error) if cause is None else f"{type(cause).__name__}: {cause}") from cause
    for record in records or ():
        yield Entry(record.name, partial(as_tensor, record.data))


def nnabla_nnp(path: str) -> Iterator[Entry]:
    """The parameters of a .nnp archive."""
    with archives.Zip(path) as archive:
        for name in archive.names:
            if name.endswith(".h5"):
                content = archive.read(name)
                _check_nnabla_h5(io.BytesIO(content), len(content))
    yield from nnabla_file(path, ".nnp")


# ---- MXNet ------------------------------------------------------------------------------------------------------
def mxnet_params(path: str) -> Iterator[Entry]:
    """The arrays of a .params file; unnamed arrays get the names 0, 1, ... Sparse arrays become dense."""
    arrays, names = params.read(path)
    limit = max(SPARSE, 16 * os.path.getsize(path))
    for i, stored in enumerate(arrays):
        name = names[i] if names else str(i)
        yield Entry(name, partial(_dense, stored, limit))


def _dense(stored: params.Stored, limit: int) -> torch.Tensor | None:
    if stored.shape is not None and stored.data is not None and stored.stype != "default":
        needed = math.prod(stored.shape) * stored.data.dtype.itemsize
        if needed > limit:
            raise Refused(f"expected a sparse array of at most {limit} bytes if dense, found {needed} ({stored.shape})")
    return params.dense(stored)
