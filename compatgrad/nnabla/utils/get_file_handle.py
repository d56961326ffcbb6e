"""Opens files of networks and parameters by format."""

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
    """An object whose attributes pass data between the functions that load files.

    Example:
        >>> from compatgrad.nnabla.utils.get_file_handle import FileHandlerContext
        >>> known = FileHandlerContext()
        >>> known.parameter_only = True
        >>> known
        FileHandlerContext(parameter_only=True)

    Source: `nnabla.utils.get_file_handle.FileHandlerContext` of nnabla 1.39.0.
    """

    def __init__(self) -> None:
        super().__init__()


def _unknown(ext: str) -> ValueError:
    return ValueError(f"{ext!r} is no format of network files; expected .nnp, .h5, .nntxt, .prototxt or .protobuf")


@contextlib.contextmanager
def get_file_handle_load(nnp: Any, path: Any, ext: str) -> Iterator[Any]:
    """Opens a file of networks or parameters, to read it.

    Args:
        nnp: a ZipFile that contains the file; None for a separate file.
        path: the file's name, or an open file.
        ext: the file's format: ".nnp", ".h5", ".nntxt", ".prototxt" or ".protobuf".

    Returns:
        A context manager for a ZipFile (.nnp), an h5py.File (.h5), or else a file of text or bytes.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: `ext` is another format.

    Example:
        >>> from compatgrad.nnabla.utils.get_file_handle import get_file_handle_load
        >>> _ = open("network.nntxt", "w").write('version: "1"')
        >>> with get_file_handle_load(None, "network.nntxt", ".nntxt") as file:
        ...     file.read()
        'version: "1"'

    Source: `nnabla.utils.get_file_handle.get_file_handle_load` of nnabla 1.39.0.
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
    """Opens a file of networks or parameters, to write it.

    A file of that name is replaced only when the block ends without an exception. An open file is rewound at the end of
    the block.

    Args:
        path: the file's name, or an open file.
        ext: the file's format: ".nnp", ".h5", ".nntxt", ".prototxt" or ".protobuf".

    Returns:
        A context manager for a ZipFile (.nnp), an h5py.File (.h5), or else a file of text or bytes.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: `ext` is another format.

    Example:
        >>> from compatgrad.nnabla.utils.get_file_handle import get_file_handle_save
        >>> with get_file_handle_save("network.nntxt", ".nntxt") as file:
        ...     _ = file.write('version: "1"')
        >>> open("network.nntxt").read()
        'version: "1"'

    Source: `nnabla.utils.get_file_handle.get_file_handle_save` of nnabla 1.39.0.
    """
    if ext not in (".nnp", ".h5", *_MODES):
        raise _unknown(ext)
    with contextlib.nullcontext(path) if hasattr(path, "read") else beside(path) as target:
        if ext == ".nnp":
            opened: Any = zipfile.ZipFile(target, "w")
        elif ext == ".h5":
            opened = hdf5.creating(target)
        elif hasattr(target, "read"):
            opened = contextlib.nullcontext(target)
        else:
            opened = open(target, f"w{_MODES[ext]}")  # closed below
        with opened as file:
            yield file
    if hasattr(path, "seek"):
        path.seek(0)


def get_buf_type(filename: str) -> str:
    """The format of a file of solver states, which is part of its name.

    Args:
        filename: `<optimizer>_<solver>_optimizer.<format>.optimizer`.

    Returns:
        The format in lower case, without a dot.

    Raises:
        IndexError: the name has another form.

    Example:
        >>> from compatgrad.nnabla.utils.get_file_handle import get_buf_type
        >>> get_buf_type("Optimizer_Adam_optimizer.h5.optimizer")
        'h5'

    Source: `nnabla.utils.get_file_handle.get_buf_type` of nnabla 1.39.0.
    """
    return filename.split("_")[-1].split(".")[1].lower()
