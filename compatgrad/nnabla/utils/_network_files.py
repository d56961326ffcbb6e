"""Network definitions in files: .nnp, .nntxt (or .prototxt) and .protobuf."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from typing import Any

from compatgrad.core.files import replacing

from ..logger import logger
from . import _parameter_files
from .nnp_format import nnp_version

__all__ = ["format_of", "write"]

_FORMATS = (".nnp", ".nntxt", ".prototxt", ".protobuf")


def format_of(filename: Any, extension: str) -> str:
    """The format, determined by the file's name or else by `extension`. Raises ValueError for an unknown one."""
    named = os.path.splitext(filename)[1] if isinstance(filename, (str, os.PathLike)) else ""
    if (named or extension) not in _FORMATS:
        raise ValueError(f"{filename}: networks are saved as {', '.join(_FORMATS)}, not {named or extension!r}")
    return named or extension


def write(
    filename: Any,
    proto: Any,
    parameters: Mapping[str, Any],
    extension: str = ".nnp",
    parameter_format: str = ".h5",
    more: Mapping[str, bytes] | None = None,
) -> None:
    """Writes an NNablaProtoBuf message to a file, given by name or open for writing bytes, in the format from
    `format_of`. A .nnp file also contains `parameters`, in `parameter_format` (".h5" or ".protobuf"), and the files
    `more`.
    """
    format_ = format_of(filename, extension)
    if format_ == ".nnp":
        data = _archive(proto, parameters, parameter_format, more or {})
    else:
        data = proto.SerializeToString() if format_ == ".protobuf" else str(proto).encode()
    if hasattr(filename, "write"):
        filename.write(data.decode() if isinstance(filename, io.TextIOBase) else data)
        filename.seek(0)
    else:
        with replacing(filename) as file:
            file.write(data)
    logger.info(f"Model file is saved as ({format_}): {filename}")


def _archive(proto: Any, parameters: Mapping[str, Any], parameter_format: str, more: Mapping[str, bytes]) -> bytes:
    params, whole = io.BytesIO(), io.BytesIO()
    if parameter_format == ".h5":
        _parameter_files.write_h5(params, parameters)
    else:
        _parameter_files.write_protobuf(params, parameters)
        parameter_format = ".protobuf"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("nnp_version.txt", f"{nnp_version()}\n")
        archive.writestr("network.nntxt", str(proto))
        archive.writestr(f"parameter{parameter_format}", params.getvalue())
        for name, content in more.items():
            archive.writestr(name, content)
    return whole.getvalue()
