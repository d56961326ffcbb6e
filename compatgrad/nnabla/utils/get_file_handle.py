"""Files of networks and parameters, opened as their formats ask."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from compatgrad.core.files import beside
from compatgrad.formats import hdf5

__all__ = ["FileHandlerContext", "get_buf_type", "get_file_handle_load", "get_file_handle_save"]

_MODES = {".nntxt": "", ".prototxt": "", ".protobuf": "b"}


class FileHandlerContext(SimpleNamespace):
    """What is known while files are loaded."""


def _unknown(ext: str) -> ValueError:
    return ValueError(f"{ext!r} is no format of network files: .nnp, .h5, .nntxt, .prototxt and .protobuf are")


@contextlib.contextmanager
def get_file_handle_load(nnp: Any, path: Any, ext: str) -> Iterator[Any]:
    """Opens `path`, a name or an open file, to read the format `ext`; or the file of that name in `nnp`, a ZipFile.

    Gives a ZipFile for .nnp, an h5py.File for .h5, else a file of text or bytes. ValueError for another format.
    """
    if nnp is not None:
        with nnp.open(path, "r") as member:
            if ext == ".h5":
                with hdf5.h5py().File(io.BytesIO(member.read()), "r") as file:
                    yield file
            else:
                yield member
    elif ext == ".nnp":
        with zipfile.ZipFile(path, "r") as archive:
            yield archive
    elif ext == ".h5":
        source = io.BytesIO(path.read()) if hasattr(path, "read") else path
        with hdf5.h5py().File(source, "r") as file:
            yield file
    elif ext not in _MODES:
        raise _unknown(ext)
    elif hasattr(path, "read"):
        yield path
    else:
        with open(path, f"r{_MODES[ext]}") as file:
            yield file


@contextlib.contextmanager
def get_file_handle_save(path: Any, ext: str) -> Iterator[Any]:
    """Opens `path`, a name or an open file, to write the format `ext`; an open file is at its start afterwards.

    Gives what `get_file_handle_load` does. ValueError for another format.
    """
    if ext not in (".nnp", ".h5", *_MODES):
        raise _unknown(ext)
    with contextlib.nullcontext(path) if hasattr(path, "read") else beside(path) as target:
        if ext == ".nnp":
            opened: Any = zipfile.ZipFile(target, "w")
        elif ext == ".h5":
            opened = hdf5.h5py().File(target, "w")
        elif hasattr(target, "read"):
            opened = contextlib.nullcontext(target)
        else:
            opened = open(target, f"w{_MODES[ext]}")  # noqa: SIM115 - closed below
        with opened as file:
            yield file
    if hasattr(path, "seek"):
        path.seek(0)


def get_buf_type(filename: str) -> str:
    """The format of a file of solver states: that in its name, ``..._optimizer.h5.optimizer``."""
    return filename.split("_")[-1].split(".")[1].lower()
