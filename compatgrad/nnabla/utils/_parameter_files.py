"""Parameters in files: .h5, .protobuf, .nntxt (or .prototxt) and .nnp."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from compatgrad.core.files import replacing
from compatgrad.formats import archives, hdf5, prototext

from ..core._file_errors import reading
from ..logger import logger
from ..variable import Variable
from . import nnabla_pb2

__all__ = [
    "Record",
    "add_to",
    "load",
    "read",
    "records",
    "records_of",
    "save",
    "write_h5",
    "write_protobuf",
]


_FORMATS = (".h5", ".protobuf", ".nntxt", ".prototxt")


class Record(NamedTuple):
    name: str
    data: np.ndarray
    need_grad: bool


def save(path: Any, params: Mapping[str, Variable], extension: str | None = None) -> None:
    """Writes `params` to a file, in the format of its name, or of `extension` for an open file.

    Raises AssertionError for a format other than .h5 and .protobuf.
    """
    named = isinstance(path, (str, os.PathLike))
    format_ = os.path.splitext(path)[1] if named else extension
    writers: dict[str | None, Callable[..., None]] = {".h5": write_h5, ".protobuf": write_protobuf}
    if format_ not in writers:
        raise AssertionError(f"save_parameters: only .h5 and .protobuf files are supported, not {format_!r}")
    writers[format_](path, params)
    if not named:
        path.seek(0)
    logger.info(f"Parameter save ({format_}): {path}")


def write_h5(file: Any, params: Mapping[str, Variable]) -> None:
    """Writes `params` to an HDF5 file, given by name or open for writing bytes, as one dataset each."""
    with hdf5.creating(file) as h5:
        for index, (name, variable) in enumerate(params.items()):
            dataset = h5.create_dataset(name, data=variable.data.get_data("r"))
            dataset.attrs["need_grad"] = variable.need_grad
            dataset.attrs["index"] = index  # HDF5 sorts datasets by name, so the order is an attribute


def write_protobuf(file: Any, params: Mapping[str, Variable]) -> None:
    """Writes `params`, as float32, to a file of a binary NNablaProtoBuf message."""
    message = nnabla_pb2.NNablaProtoBuf()
    add_to(message, records(params))
    data = message.SerializeToString()
    if hasattr(file, "write"):
        file.write(data)
    else:
        with replacing(file) as opened:
            opened.write(data)


def records(params: Mapping[str, Variable]) -> Iterator[Record]:
    """The records of `params`, from which files are written."""
    for name, variable in params.items():
        yield Record(name, variable.data.get_data("r"), variable.need_grad)


def add_to(message: Any, records: Iterable[Record]) -> None:
    """Appends parameters to an NNablaProtoBuf message."""
    for record in records:
        entry = message.parameter.add(variable_name=record.name, need_grad=record.need_grad)
        entry.shape.SetInParent()
        entry.shape.dim.extend(record.data.shape)
        entry.data.frombytes(np.ascontiguousarray(record.data, np.float32).tobytes())


def records_of(message: Any) -> list[Record]:
    """The parameters of an NNablaProtoBuf message. Raises ValueError if one has too few or too many elements."""
    found = []
    for entry in message.parameter:
        shape, data = tuple(entry.shape.dim), np.array(entry.data, np.float32)
        if any(n < 0 for n in shape) or np.prod(shape, dtype=object) != data.size:
            raise ValueError(f"parameter {entry.variable_name!r} has {data.size} elements, not those of {shape}")
        found.append(Record(entry.variable_name, data.reshape(shape), entry.need_grad))
    return found


def read_h5(file: Any) -> list[Record]:
    """The parameters of an HDF5 file, in the order in which they were saved."""
    found: list[tuple[tuple[bool, int, str], Record]] = []
    with hdf5.h5py().File(file, "r") as h5:
        for name, item in hdf5.datasets(h5):
            if "need_grad" not in item.attrs:
                raise ValueError(f"dataset {name!r} has no attribute need_grad: it was not written by nnabla")
            index = item.attrs.get("index")
            order = (index is None, 0 if index is None else int(index), name)
            data = np.asarray(hdf5.read(item))
            if data.dtype.kind not in "fiub" or data.dtype.itemsize > 8:
                raise ValueError(f"dataset {name!r} has the dtype {data.dtype}, which no array can have")
            found.append((order, Record(name, data, bool(item.attrs["need_grad"]))))
    return [record for _, record in sorted(found, key=lambda pair: pair[0])]


def _bytes_of(file: Any) -> bytes:
    if hasattr(file, "read"):
        data = file.read()
        return data.encode() if isinstance(data, str) else data
    with open(file, "rb") as opened:
        return opened.read()


def read(path: Any, message: Any, extension: str) -> list[Record] | None:
    """The parameters of one file of the format `extension`; None for an unknown format.

    The contents of .protobuf and .nntxt files, alone or inside a .nnp file, are also merged into the NNablaProtoBuf
    `message`; parameters of .h5 files are only returned.
    """
    if extension not in (*_FORMATS, ".nnp"):
        return None
    with reading(path, extension):
        if extension == ".h5":
            return read_h5(io.BytesIO(path.read()) if hasattr(path, "read") else path)
        if extension == ".nnp":
            return _read_archive(path, message)
        part = nnabla_pb2.NNablaProtoBuf()
        data = _bytes_of(path)
        if extension == ".protobuf":
            part.ParseFromString(data)
        else:
            prototext.merge(data.decode(), part)
        found = records_of(part)
        message.MergeFrom(part)
        return found


def _read_archive(path: Any, message: Any) -> list[Record]:
    found: list[Record] = []
    with archives.Zip(path) as archive:
        for name in archive.names:  # so that other members are never decompressed
            extension = os.path.splitext(name)[1]
            if extension in _FORMATS:
                content = io.BytesIO(archive.read(name))
                content.name = name
                found += read(content, message, extension) or []
    return found


def load(paths: Any, needs_proto: bool, extension: str) -> tuple[Any, list[Record]]:
    """The NNablaProtoBuf message of one file or of several, and their parameters. Parameters of .h5 files are in the
    message only with `needs_proto`.
    """
    several = isinstance(paths, Sequence) and not isinstance(paths, (str, bytes))
    message = nnabla_pb2.NNablaProtoBuf()
    everything: list[Record] = []
    for path in paths if several else [paths]:
        named = isinstance(path, (str, os.PathLike))
        if not named and not hasattr(path, "read"):
            raise TypeError(f"load_parameters: expected a file name or an open file, got {type(path).__name__}")
        format_ = os.path.splitext(path)[1] if named else extension
        if not format_:
            raise ValueError(f"load_parameters: {path} has no extension, which would determine the format")
        held = len(message.parameter)
        found = read(path, message, format_)
        if found is None:
            logger.warning(f"{path} is skipped: {format_} is no format of parameter files.")
            continue
        if needs_proto and len(message.parameter) == held:
            add_to(message, found)
        everything += found
    return message, everything
