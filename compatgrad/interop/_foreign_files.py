"""What the frameworks' parameter files hold, by the readers of the frontends, behind checks of their own.

The readers answer a damaged file with an error, but some of them believe what a header says before they look whether
the file can be that large. What is announced is compared with the size of the file here, before they are asked.
"""

from __future__ import annotations

import io
import math
import os
import pickletools
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from compatgrad.formats import hdf5 as hdf5_format
from compatgrad.formats import params
from compatgrad.formats.npz import Archive

__all__ = ["Entry", "Refused", "hdf5", "mxnet_params", "nnabla_file", "nnabla_nnp", "npz"]

DEFLATE = 1032  # deflate makes nothing smaller than by this factor
SLACK = 1 << 20  # what may be announced beyond that
SPARSE = 1 << 26  # bytes that a sparse array may have dense, however small its file
NONE_PICKLED = 4096  # bytes; numpy's pickle of None has less than 200


class Refused(ValueError):
    """An entry is there but is no tensor; the text says what it is."""


class Entry(NamedTuple):
    """A name in a file; `load` gives the tensor, or None for a parameter without a value. It may raise `Refused`."""

    name: str
    load: Callable[[], torch.Tensor | None]


def as_tensor(array: Any) -> torch.Tensor:
    """The tensor of a NumPy array or scalar, of its shape. Raises Refused where torch has no such type."""
    array = np.asarray(array)
    _check_type(array.dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.c_contiguous and array.flags.writeable):
        array = array.copy(order="C")
    return torch.from_numpy(array)


def _check_type(dtype: np.dtype) -> None:
    if dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8) and dtype.names is None:
        return
    kind = {"U": "text", "S": "text", "O": "objects"}.get(dtype.kind, "a type that tensors do not have")
    raise Refused(f"expected numbers, found {kind} ({dtype})")


# ---- zip archives -----------------------------------------------------------------------------------------------
def _check_archive(archive: zipfile.ZipFile, size: int) -> None:
    """Raises ValueError for an archive that could not unpack to what it announces."""
    members = archive.infolist()
    if sum(member.compress_size for member in members) > size:
        raise ValueError(f"expected members of together at most {size} bytes, the size of the file; they overlap")
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"member {member.filename!r} is compressed by method {member.compress_type}, not deflate")
        if member.flag_bits & 1:
            raise ValueError(f"member {member.filename!r} is encrypted")
        if member.file_size > DEFLATE * member.compress_size + 64:
            raise ValueError(
                f"member {member.filename!r} announces {member.file_size} bytes, which its {member.compress_size} "
                "bytes cannot hold"
            )


def npz(path: str) -> Iterator[Entry]:
    """The entries of a .npz archive, such as Chainer's."""
    with Archive(path) as archive:
        _check_archive(archive.zip, os.path.getsize(path))
        for member in archive.zip.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                raise ValueError(f"expected arrays (.npy) in the archive, found {member.filename!r}")
            yield Entry(name, partial(_array_of, archive, name, member))


def _array_of(archive: Archive, name: str, member: zipfile.ZipInfo) -> torch.Tensor | None:
    with archive.zip.open(member) as file:
        version = np.lib.format.read_magic(file)
        headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in headers:
            raise Refused(f"expected an array of .npy version 1 or 2, found version {'.'.join(map(str, version))}")
        shape, _, dtype = headers[version](file)
        rest = member.file_size - file.tell()
    if dtype.hasobject:
        if version == (1, 0) and rest <= NONE_PICKLED and _small_pickle(archive.pickled(name) or b""):
            with suppress(ValueError):  # for every other pickle
                if archive[name][()] is None:
                    return None
        raise Refused("expected numbers, found pickled Python objects, which are never loaded")
    _check_type(dtype)
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != rest:
        raise ValueError(f"{name!r} of shape {shape} and type {dtype} does not take the {rest} bytes it has")
    return as_tensor(archive[name])


def _small_pickle(payload: bytes) -> bool:
    """Whether the serializer may look into a pickle: no opcode of it announces something large."""
    try:
        arguments = [argument for _, argument, _ in pickletools.genops(payload)]
    except Exception:  # a damaged pickle fails in any way
        return False
    return all(abs(argument) < NONE_PICKLED for argument in arguments if isinstance(argument, int))


# ---- HDF5 -------------------------------------------------------------------------------------------------------
def _check_dataset(name: str, dataset: Any, size: int) -> None:
    """Raises ValueError for a dataset that lies in another file or cannot have the size it announces.

    Raises Refused if it has no numbers.
    """
    _check_type(dataset.dtype)
    plist = dataset.id.get_create_plist()
    if dataset.is_virtual or plist.get_external_count():
        raise ValueError(f"the data of {name!r} lie in another file")
    stored = min(dataset.id.get_storage_size(), size)
    for what, shape in (("shape", dataset.shape), ("chunks", dataset.chunks or ())):
        if math.prod(shape) * dataset.dtype.itemsize > DEFLATE * stored + SLACK:
            raise ValueError(f"{name!r} announces {what} {shape} of {dataset.dtype}; {stored} bytes cannot hold that")


def _check_nnabla_h5(file: Any, size: int) -> None:
    """Raises ValueError before nnabla's reader would read too much."""
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
    except (OSError, ValueError) as error:  # the reader names the file, as our caller will
        cause = error.__cause__
        raise ValueError(str(error) if cause is None else f"{type(cause).__name__}: {cause}") from cause
    for record in records or ():
        yield Entry(record.name, partial(as_tensor, record.data))


def nnabla_nnp(path: str) -> Iterator[Entry]:
    """The parameters of a .nnp archive."""
    with zipfile.ZipFile(path) as archive:
        _check_archive(archive, os.path.getsize(path))
        for member in archive.infolist():
            if member.filename.endswith(".h5"):
                content = archive.read(member)
                _check_nnabla_h5(io.BytesIO(content), len(content))
    yield from nnabla_file(path, ".nnp")


# ---- MXNet ------------------------------------------------------------------------------------------------------
def mxnet_params(path: str) -> Iterator[Entry]:
    """The arrays of a .params file; those of a list are named 0, 1, ... Sparse arrays become dense."""
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
