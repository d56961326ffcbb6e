"""Reads parameter files of Chainer, nnabla and MXNet as dictionaries of tensors, and writes such dictionaries for
torch.

None of the frameworks is needed, and nothing in a file is ever executed: pickles are not loaded.
"""

from __future__ import annotations

import errno
import io
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO, NamedTuple

import torch

from compatgrad.core.files import replacing
from compatgrad.formats import safetensors
from compatgrad.interop import _foreign_files
from compatgrad.interop._foreign_files import Entry, Refused

__all__ = ["Contents", "load", "read_parameters", "rename", "write_parameters"]

SEPARATORS = "/.:"
_Path = str | os.PathLike[str]


class _Format(NamedTuple):
    name: str
    signature: str  # the beginning of its files, one of _SIGNATURES
    read: Callable[[str], Iterator[Entry]]


def _safetensors_entries(path: str) -> Iterator[Entry]:
    for name, tensor in safetensors.read(path).items():
        yield Entry(name, partial(torch.Tensor.detach, tensor))


def _nnabla(extension: str) -> Callable[[str], Iterator[Entry]]:
    return lambda path: _foreign_files.nnabla_file(path, extension)


_TEXT = _Format("text of nnabla", "", _nnabla(".nntxt"))
_HDF5 = _Format("an HDF5 file of Chainer or nnabla", "HDF5", _foreign_files.hdf5)
_FORMATS = {
    ".npz": _Format("a .npz archive of Chainer", "zip", _foreign_files.npz),
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".protobuf": _Format("a .protobuf file of nnabla", "", _nnabla(".protobuf")),
    ".nntxt": _TEXT,
    ".prototxt": _TEXT,
    ".nnp": _Format("a .nnp archive of nnabla", "zip", _foreign_files.nnabla_nnp),
    ".params": _Format("a .params file of MXNet", "MXNet", _foreign_files.mxnet_params),
    ".safetensors": _Format("a safetensors file", "safetensors", _safetensors_entries),
}
_SIGNATURES = {
    "zip": "a zip archive",
    "HDF5": "an HDF5 file",
    "MXNet": "a .params file of MXNet",
    "safetensors": "a safetensors file",
}


class Contents(NamedTuple):
    """The content of a parameter file.

    Args:
        format: a description of the format.
        tensors: the parameters by name.
        empty: names of parameters that have no value yet.
        refused: names of entries that are not tensors, with the reason.

    Example:
        >>> import torch
        >>> import os, tempfile
        >>> from compatgrad import interop
        >>> from compatgrad.interop import files
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "net.safetensors")
        ...     interop.write_parameters(path, {"W": torch.ones(2)})
        ...     files.load(path)
        Contents(format='a safetensors file', tensors={'W': tensor([1., 1.])}, empty=[], refused={})

    Source: `compatgrad/interop/files.py`.
    """

    format: str
    tensors: dict[str, torch.Tensor]
    empty: list[str]  # parameters that have no value yet
    refused: dict[str, str]  # entries that are not tensors, and the reason


def _signature(start: bytes) -> str:
    """The entry of _SIGNATURES with which a file begins, or ''."""
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if start.startswith(b"\x89HDF\r\n\x1a\n"):
        return "HDF5"
    if start.startswith(b"\x12\x01\0\0\0\0\0\0"):
        return "MXNet"
    return "safetensors" if start[8:9] == b"{" and start[4:8] == bytes(4) else ""


def _format_of(path: str) -> _Format:
    """The format of a file, from its name, or from its content if the name does not say."""
    if os.path.exists(path) and not os.path.isfile(path):  # reading from a pipe would block
        raise ValueError(f"{path}: expected a file, found a {'folder' if os.path.isdir(path) else 'device or pipe'}")
    with open(path, "rb") as file:
        start = file.read(16)
    if not start:
        raise ValueError(f"{path}: expected parameters, found an empty file")
    found = _signature(start)
    named = _FORMATS.get(os.path.splitext(path)[1].lower())
    if named is None and found == "zip":
        return _zip_format(path)
    wanted = named or next((f for f in _FORMATS.values() if f.signature and f.signature == found), None)
    if wanted is None:
        raise ValueError(
            f"{path}: expected one of {', '.join(_FORMATS)}, by name or content; found an unknown name "
            f"and a content that begins with {start!r}"
        )
    if not wanted.signature:  # nnabla's text and protobuf formats have no signature
        fits = found not in ("zip", "HDF5")
    else:
        # HDF5 files may have other data before the signature
        fits = found == wanted.signature or (wanted is _HDF5 and not found)
    if not fits:
        what = _SIGNATURES.get(found, f"a content that begins with {start!r}")
        raise ValueError(f"{path}: expected {wanted.name}, found {what}")
    return wanted


def _extension(path: str, by_content: bool = False) -> str:
    """The extension of a format in the name of a file, in lower case; "" if the name has none of a known format. With
    `by_content`, the extension of the format that `load` finds in the file."""
    if by_content:
        found = _format_of(path)
        return next(ending for ending, known in _FORMATS.items() if known is found)
    ending = os.path.splitext(path)[1].lower()
    return ending if ending in _FORMATS else ""


def _zip_format(path: str) -> _Format:
    with _named_errors(path, "an archive"), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if names and all(name.endswith(".npy") for name in names):
        return _FORMATS[".npz"]
    if any(name.endswith((".nntxt", ".prototxt")) for name in names):
        return _FORMATS[".nnp"]
    raise ValueError(
        f"{path}: expected an archive of Chainer (.npy) or nnabla (.nntxt), found a zip archive of {names[:5]}"
    )


class _named_errors:
    """Converts every error of a reader to a ValueError that names the file."""

    def __init__(self, path: str, expected: str) -> None:
        self.path, self.expected = path, expected

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: Any, error: BaseException | None, traceback: Any) -> None:
        if not isinstance(error, Exception) or isinstance(error, (FileNotFoundError, PermissionError, ImportError)):
            return
        text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        if not text.startswith(self.path):
            text = f"{self.path}: expected {self.expected}, could not read it: {text}"
        raise ValueError(text) from error


def follows(name: str, prefix: str) -> bool:
    """Whether a name begins with a prefix that ends at the end of a part of the name. Parts end before /, . and :. A
    prefix that ends with one of these characters, or with _, may end anywhere.

    Args:
        name: the name.
        prefix: the prefix; "" is a prefix of all names.

    Returns:
        True if it does.

    Raises:
        AttributeError: `name` is not a string.

    Example:
        >>> from compatgrad.interop.files import follows
        >>> follows("l1/W", "l1"), follows("l10/W", "l1")
        (True, False)

    Source: `compatgrad/interop/files.py`.
    """
    if not name.startswith(prefix):
        return False
    return not prefix or prefix[-1] in SEPARATORS + "_" or name[len(prefix) : len(prefix) + 1] in ("", *SEPARATORS)


def _without(name: str, prefix: str) -> str:
    rest = name[len(prefix) :]
    return rest[1:] if prefix and prefix[-1] not in SEPARATORS + "_" else rest


def load(path: _Path, prefix: str | None = None, refuse: bool = True) -> Contents:
    """Reads a file as `read_parameters` does, and returns further information about it.

    Args:
        path: path of the file.
        prefix: selects only names that begin with it, and removes it from them; None selects all.
        refuse: False lists entries that are not tensors in `refused`; True raises an error for them.

    Returns:
        The content of the file.

    Raises:
        ImportError: an HDF5 file needs h5py, which is not installed.
        OSError: the file cannot be opened.
        ValueError: the file is empty, damaged, of another format, or has no (such) parameters; or, with `refuse`, a
            parameter is not a tensor.

    Example:
        >>> import numpy as np
        >>> import os, tempfile
        >>> from compatgrad.interop import files
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "net.npz")
        ...     np.savez(path, x=np.ones(2), text=np.array("a"))
        ...     files.load(path, refuse=False).refused
        {'text': 'expected numbers, found text (<U1)'}

    Source: `compatgrad/interop/files.py`.
    """
    path = os.fspath(path)
    format_ = _format_of(path)
    contents = Contents(format_.name, {}, [], {})
    with _named_errors(path, format_.name):
        seen = _collect(path, contents, format_.read(path), prefix or "")
    if not seen:
        raise ValueError(f"{path}: expected parameters in {format_.name}, found none")
    if not (contents.tensors or contents.empty or contents.refused):
        raise ValueError(f"{path}: no name begins with {prefix!r}; {_beginnings(seen)}{_hint(seen)}")
    if refuse and contents.refused:
        name, reason = next(iter(contents.refused.items()))
        raise ValueError(f"{path}: parameter {name!r}: {reason}{'' if prefix else _hint(seen)}")
    return contents


def _collect(path: str, contents: Contents, entries: Iterator[Entry], prefix: str) -> list[str]:
    """Adds the entries that begin with `prefix` to `contents`; returns the names of all entries."""
    seen: list[str] = []
    taken: dict[str, str] = {}
    for full, read in entries:
        seen.append(full)
        if not follows(full, prefix):
            continue
        name = _without(full, prefix)
        if not name:
            raise ValueError(f"{path}: {full!r} is a parameter itself, the prefix must leave something of its name")
        if name in taken:
            raise ValueError(f"{path}: {taken[name]!r} and {full!r} are both parameter {name!r}")
        taken[name] = full
        try:
            tensor = read()
        except Refused as error:
            contents.refused[name] = str(error)
            continue
        except Exception as error:
            raise ValueError(f"{path}: parameter {full!r} cannot be read: {error or type(error).__name__}") from error
        if tensor is None:
            contents.empty.append(name)
        else:
            # in files, any nonzero byte may mean true
            contents.tensors[name] = tensor.view(torch.uint8).ne(0) if tensor.dtype == torch.bool else tensor
    return seen


def _hint(names: Iterable[str]) -> str:
    """A hint how to select the model in a trainer's snapshot."""
    models = {name.split("/")[1] for name in names if name.startswith("updater/model:") and name.count("/") > 1}
    if not models:
        return ""
    options = " or ".join(repr(f"updater/{model}/") for model in sorted(models))
    return f"; this is the snapshot of a trainer, whose model is below the prefix {options}"


def _beginnings(names: Iterable[str]) -> str:
    parts = list(dict.fromkeys(name.split("/")[0] for name in names))
    return f"names begin with {', '.join(map(repr, parts[:8]))}{', ...' if len(parts) > 8 else ''}"


def read_parameters(path: _Path, prefix: str | None = None) -> dict[str, torch.Tensor]:
    """Reads the parameters in a file: Chainer's .npz and .h5, nnabla's .h5, .protobuf, .nntxt and .nnp, MXNet's
    .params, and .safetensors. A file with another extension is recognized by its content, except .protobuf and text.
    Parameters without a value are left out. An unnamed list of arrays has the names "0", "1", ...; sparse arrays become
    dense. Nothing in a file is ever executed: pickles are not loaded.

    Args:
        path: path of the file.
        prefix: selects only names that begin with it, up to the end of a part, and removes it from them: for the model
            of a trainer's snapshot "updater/model:main/". None selects all.

    Returns:
        A dict from names to tensors on the CPU, with the shapes, dtypes and order of the file.

    Raises:
        ImportError: an HDF5 file needs h5py, which is not installed.
        OSError: the file cannot be opened.
        ValueError: the file is empty, damaged, of another format, or has no (such) parameters; or a parameter is not a
            tensor, or two have the same name.

    Example:
        >>> import os, tempfile
        >>> from compatgrad import interop
        >>> import compatgrad.chainer.links as L
        >>> import compatgrad.chainer.serializers as S
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "net.npz")
        ...     S.save_npz(path, L.Linear(3, 2))
        ...     {name: tuple(p.shape) for name, p in sorted(interop.read_parameters(path).items())}
        {'W': (2, 3), 'b': (2,)}

    Source: `compatgrad/interop/files.py`, `_foreign_files.py`.
    """
    return load(path, prefix).tensors


def rename(tensors: Mapping[str, torch.Tensor], changes: Iterable[tuple[str, str]]) -> dict[str, torch.Tensor]:
    """Renames tensors: of the pairs (old, new), the first whose `old` is a prefix of a name replaces this prefix by
    `new`. `old` must end at the end of a part of the name, see `follows`.

    Args:
        tensors: the tensors by name.
        changes: the pairs.

    Returns:
        The tensors under the new names.

    Raises:
        ValueError: a pair changes no name, a name becomes empty, or two become equal.

    Example:
        >>> import torch
        >>> from compatgrad.interop.files import rename
        >>> list(rename({"l1/W": torch.ones(2), "l2/W": torch.ones(2)}, [("l1", "first")]))
        ['first/W', 'l2/W']

    Source: `compatgrad/interop/files.py`.
    """
    changes = list(changes)
    used: set[str] = set()
    origins: dict[str, str] = {}
    out: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        new = name
        for old, replacement in changes:
            if follows(name, old):
                new = replacement + name[len(old) :]
                used.add(old)
                break
        if not new:
            raise ValueError(f"parameter {name!r} would have no name left")
        if new in out:
            raise ValueError(f"parameters {origins[new]!r} and {name!r} would both become {new!r}")
        origins[new], out[new] = name, tensor
    for old, replacement in changes:
        if old not in used:
            raise ValueError(f"{old}={replacement} renames nothing; {_beginnings(tensors)}")
    return out


def _plain(name: Any, tensor: Any) -> torch.Tensor:
    """The tensor in the form for files: contiguous, on the CPU, alone in its memory."""
    if not isinstance(name, str):
        raise ValueError(f"the name of a parameter must be a string, not {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"parameter {name!r}: the name is not valid text") from None
    if not isinstance(tensor, torch.Tensor):
        raise ValueError(f"parameter {name!r} must be a tensor, not {type(tensor).__name__}")
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        raise ValueError(f"parameter {name!r} must be a dense tensor with data, not {tensor.layout} on {tensor.device}")
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return plain if plain.untyped_storage().nbytes() == plain.nbytes else plain.clone()


def writer(path: _Path) -> Callable[[BinaryIO, Mapping[str, torch.Tensor]], None]:
    """The function that writes the format of a file's extension.

    Args:
        path: path of the file, with the extension .safetensors, .pt or .pth.

    Returns:
        A function of a binary file and a dict from names to tensors.

    Raises:
        FileNotFoundError: the folder of the file is missing.
        ValueError: the name has another extension.

    Example:
        >>> import torch
        >>> import io
        >>> from compatgrad.interop.files import writer
        >>> file = io.BytesIO()
        >>> writer("net.pt")(file, {"W": torch.ones(2)})
        >>> count = file.seek(0)
        >>> torch.load(file)
        {'W': tensor([1., 1.])}

    Source: `compatgrad/interop/files.py`.
    """
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "no such folder", folder)
    ending = os.path.splitext(path)[1].lower()
    if ending == ".safetensors":
        return safetensors.write
    if ending in (".pt", ".pth"):
        return _write_state_dict
    raise ValueError(f"{os.fspath(path)}: expected a name that ends in .safetensors, .pt or .pth, found {ending!r}")


def _write_state_dict(file: BinaryIO, tensors: Mapping[str, torch.Tensor]) -> None:
    content = io.BytesIO()  # written to memory first, because torch's errors do not say why a file cannot be written
    torch.save(dict(tensors), content)
    file.write(content.getbuffer())


def write_parameters(path: _Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes tensors to a file for torch programs, replacing an existing file: a safetensors file, or a torch state
    dict for .pt and .pth. The file appears under its name when it is complete.

    Args:
        path: path of the file.
        tensors: a dict from names to dense tensors of any shape, on any device.

    Raises:
        OSError: the file cannot be written.
        TypeError: `tensors` is not a dict.
        ValueError: the file name has another extension, a parameter's name is not text, or the format does not support
            a tensor. Nothing is written.

    Example:
        >>> import torch
        >>> import os, tempfile
        >>> from compatgrad import interop
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "net.safetensors")
        ...     interop.write_parameters(path, {"l1.weight": torch.ones(2, 3)})
        ...     interop.read_parameters(path, prefix="l1")["weight"].shape
        torch.Size([2, 3])

    Source: `compatgrad/interop/files.py`.
    """
    write = writer(path)
    if not isinstance(tensors, Mapping):
        raise TypeError(f"tensors: expected a dict from names to tensors, got {type(tensors).__name__}")
    plain = {name: _plain(name, tensor) for name, tensor in tensors.items()}
    if write is safetensors.write:
        safetensors.prepare(plain)  # raises its errors before a file is created
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path}: expected a file, found {'a folder' if os.path.isdir(path) else 'a device or pipe'}")
    with replacing(path) as file:
        write(file, plain)
