"""The binary format of MXNet's `.params` files: a list of arrays and a list of names.

Everything is little endian. A file consists of the magic number 0x112, 8 reserved bytes, a count and that many arrays,
a count (0 or the same) and that many names. An array begins with a magic number for its version: V2 has a storage type,
V3 is V2 with NumPy's shape semantics (0-d arrays exist), V1 has neither, and in the oldest files this number is the
number of dimensions (32 bits each) that follow. Before memory is allocated, the reader checks that the file is long
enough for it.
"""

from __future__ import annotations

import io
import math
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import torch

from compatgrad.core.files import replacing

__all__ = ["ParamsError", "Stored", "dense", "read", "read_array", "write", "write_array"]

LIST_MAGIC = 0x112
V1_MAGIC, V2_MAGIC, V3_MAGIC = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
MAX_DIMS = 32

STYPES = {0: "default", 1: "row_sparse", 2: "csr"}
AUX_NAMES = {"default": (), "row_sparse": ("indices",), "csr": ("indptr", "indices")}
DTYPES = {
    0: torch.float32,
    1: torch.float64,
    2: torch.float16,
    3: torch.uint8,
    4: torch.int32,
    5: torch.int8,
    6: torch.int64,
    7: torch.bool,
    8: torch.int16,
    9: torch.uint16,
    10: torch.uint32,
    11: torch.uint64,
    12: torch.bfloat16,
}


class ParamsError(ValueError):
    """The error for a file that is not a `.params` file, or is damaged; it names the file and the position.

    Example:
        >>> from compatgrad.formats import params
        >>> try:
        ...     params.read(b"text")
        ... except params.ParamsError:
        ...     print("damaged")
        damaged

    Source: `compatgrad/formats/params.py`.
    """


@dataclass
class Stored:
    """One array of a file.

    Args:
        shape: its shape; None for an array without a value.
        data: its values; for a sparse array the stored values.
        stype: "default", "row_sparse" or "csr".
        aux: indices of a sparse array: [indices] of rows, or [indptr, indices].
        np_shape: whether it has NumPy's shape semantics, in which an axis may have length 0.
        context: the number of the device type and the number of the device.

    Example:
        >>> import torch
        >>> from compatgrad.formats import params
        >>> params.Stored((3, 2), torch.ones(1, 2), "row_sparse", [torch.tensor([1])]).stype
        'row_sparse'

    Source: `compatgrad/formats/params.py`.
    """

    shape: tuple[int, ...] | None  # None: an array without a value
    data: torch.Tensor | None = None
    stype: str = "default"
    aux: list[torch.Tensor] = field(default_factory=list)
    np_shape: bool = False
    context: tuple[int, int] = (1, 0)  # the number of the device type and the number of the device


class Reader:
    """Reads a stream of known length. Data that do not fit raise a ParamsError that names the file and the position.

    Args:
        stream: the stream.
        size: its length in bytes.
        name: what errors call it.

    Example:
        >>> import io
        >>> from compatgrad.formats.params import Reader
        >>> Reader(io.BytesIO(b"\\x07\\x00\\x00\\x00"), 4, "x").number("i", "a number")
        7

    Source: `compatgrad/formats/params.py`.
    """

    def __init__(self, stream: BinaryIO, size: int, name: str) -> None:
        self.stream, self.size, self.name, self.at = stream, size, name, 0
        self.where = "header"

    def error(self, text: str) -> ParamsError:
        """The error with the given text, the file and the position."""
        return ParamsError(f"Invalid NDArray file format: {self.name}, {self.where}, byte {self.at}: {text}")

    def need(self, n: int, what: str) -> None:
        """Raises ParamsError if fewer than `n` bytes are left for `what`."""
        left = self.size - self.at
        if n > left:
            raise self.error(f"expected {n} bytes for {what}, found {left} before the end of the file")

    def take(self, n: int, what: str) -> bytes:
        """The next `n` bytes."""
        self.need(n, what)
        got = self.stream.read(n)
        if len(got) != n:
            raise self.error(f"expected {n} bytes for {what}, could read {len(got)}")
        self.at += n
        return got

    def number(self, code: str, what: str) -> int:
        """The next number; `code` is its type as in `struct`."""
        code = "<" + code
        return int(struct.unpack(code, self.take(struct.calcsize(code), what))[0])

    def count(self, what: str, least_bytes: int) -> int:
        """A count of items that take at least `least_bytes` each."""
        n = self.number("Q", f"the number of {what}")
        if n * least_bytes > self.size - self.at:
            raise self.error(f"{n} {what} announced, {self.size - self.at} bytes are left")
        return n

    def dims(self, what: str, ndim: int | None = None, code: str = "q") -> tuple[int, ...] | None:
        """A shape; None if the number of dimensions means that it is unknown."""
        ndim = self.number("i", f"the number of dimensions of {what}") if ndim is None else ndim
        if ndim == -1:
            return None
        if not 0 <= ndim <= MAX_DIMS:
            raise self.error(f"expected at most {MAX_DIMS} dimensions of {what}, found {ndim}")
        raw = self.take(ndim * struct.calcsize("<" + code), f"{what} of {ndim} dimensions")
        shape = struct.unpack(f"<{ndim}{code}", raw)
        if any(d < -1 for d in shape):
            raise self.error(f"{what} {shape} has a negative dimension")
        if math.prod(d for d in shape if d > 0) >= 2**62:
            raise self.error(f"{what} {shape} is larger than any memory")
        return shape

    def dtype(self, what: str) -> torch.dtype:
        """The next dtype."""
        flag = self.number("i", f"the type of {what}")
        if flag not in DTYPES:
            raise self.error(f"expected a type flag of {what} in 0..{max(DTYPES)}, found {flag}")
        return DTYPES[flag]

    def tensor(self, shape: tuple[int, ...], dtype: torch.dtype, what: str) -> torch.Tensor:
        """The next values, as a tensor."""
        n = math.prod(shape) * dtype.itemsize
        if n > self.size - self.at:
            self.need(n, f"{what} of shape {shape} and type {str(dtype)[6:]}")
        out = torch.empty(shape, dtype=dtype)
        if n:
            view = out.view(-1).view(torch.uint8).numpy().data
            got = 0
            while got < n:
                step = self.stream.readinto(view[got:])  # type: ignore[attr-defined]
                if not step:
                    raise self.error(f"expected {n} bytes for {what}, could read {got}")
                got += step
        self.at += n
        return out


def _read_dense(r: Reader) -> Stored | None:
    """A dense array that has elements, whose header is read in one call. None for other arrays and damaged ones, with
    the stream at its old position: `_read_array` then reads the header number by number, and says what is wrong."""
    head = r.stream.read(12)
    magic, flag, ndim = struct.unpack("<IIi", head) if len(head) == 12 else (0, 0, 0)
    if magic in (V2_MAGIC, V3_MAGIC) and flag == 0 and 0 < ndim <= MAX_DIMS:
        rest = r.stream.read(8 * ndim + 12)
        if len(rest) == 8 * ndim + 12:
            *lengths, kind, number, dtype = struct.unpack(f"<{ndim}qiii", rest)
            shape = tuple(lengths)
            left = r.size - r.at - 24 - 8 * ndim
            if min(shape) > 0 and math.prod(shape) <= left and 1 <= kind <= 6 and dtype in DTYPES:
                r.at += 24 + 8 * ndim
                data = r.tensor(shape, DTYPES[dtype], "the data")
                return Stored(shape, data, np_shape=magic == V3_MAGIC, context=(kind, number))
    r.stream.seek(r.at)
    return None


def _read_array(r: Reader) -> Stored:
    if (dense := _read_dense(r)) is not None:
        return dense
    magic = r.number("I", "the magic number")
    if magic not in (V2_MAGIC, V3_MAGIC):
        # the oldest files have the number of dimensions in place of a magic number
        shape = r.dims("the shape") if magic == V1_MAGIC else r.dims("the shape (no magic number)", magic, "I")
        if not shape:
            return Stored(None)
        context = _context(r)
        dtype = r.dtype("the data")
        return Stored(shape, r.tensor(_known(r, shape, "the shape"), dtype, "the data"), context=context)
    np_shape = magic == V3_MAGIC
    flag = r.number("i", "the storage type")
    if flag not in STYPES:
        raise r.error(f"expected a storage type in {sorted(STYPES)}, found {flag}")
    stype = STYPES[flag]
    stored_shape = r.dims("the shape of the stored values") if AUX_NAMES[stype] else None
    shape = r.dims("the shape")
    if shape is None or (not np_shape and shape == ()) or (np_shape and -1 in shape):
        return Stored(None, np_shape=np_shape)
    context = _context(r)
    dtype = r.dtype("the data")
    aux = [(name, r.dtype(name), r.dims(f"the shape of {name}")) for name in AUX_NAMES[stype]]
    shape = _known(r, shape, "the shape")
    size = _known(r, stored_shape, "the shape of the stored values") if aux else shape
    if aux and 0 in size:
        # the original may write this shape before it has computed it, so the number of indices is used instead
        size = (*_known(r, aux[-1][2], f"the shape of {aux[-1][0]}")[:1], *(shape[1:] if stype == "row_sparse" else ()))
    data = r.tensor(size, dtype, "the data")
    out = Stored(shape, data, stype, np_shape=np_shape, context=context)
    for name, aux_dtype, aux_shape in aux:
        out.aux.append(r.tensor(_known(r, aux_shape, f"the shape of {name}"), aux_dtype, name))
    if aux:
        _check_sparse(r, out)
    return out


def _context(r: Reader) -> tuple[int, int]:
    kind, number = r.number("i", "the device type"), r.number("i", "the device number")
    if not 1 <= kind <= 6:
        raise r.error(f"expected a device type in 1..6, found {kind}")
    return kind, number


def _known(r: Reader, shape: tuple[int, ...] | None, what: str) -> tuple[int, ...]:
    if shape is None or -1 in shape:
        raise r.error(f"{what} is unknown ({shape}), but data follow")
    return shape


def _check_sparse(r: Reader, a: Stored) -> None:
    """Checks a sparse array: invalid indices would write to memory outside the array when it is made dense."""
    assert a.data is not None
    shape = a.shape or ()
    wanted = 2 if a.stype == "csr" else len(shape)
    if len(shape) != wanted or (a.stype == "row_sparse" and a.data.shape[1:] != shape[1:]):
        raise r.error(f"a {a.stype} array of shape {shape} cannot hold stored values of shape {tuple(a.data.shape)}")
    integers = (torch.int64, torch.int32, torch.uint8, torch.int8)
    if any(t.dtype not in integers or t.dim() != 1 for t in a.aux):
        raise r.error(f"the indices of a {a.stype} array must be 1-dimensional and of an integer type")
    indices = a.aux[-1]
    if not a.data.dim():
        raise r.error(f"the stored values of a {a.stype} array must have an axis")
    stored = a.data.shape[0]
    if a.stype == "csr":
        indptr = a.aux[0]
        never_filled = stored == 0 and indptr.numel() == 0
        if not never_filled and (indptr.numel() != shape[0] + 1 or indptr[0] != 0 or bool((indptr.diff() < 0).any())):
            raise r.error(f"indptr must have {shape[0] + 1} numbers that start at 0 and never fall")
        stored = int(indptr[-1]) if indptr.numel() else 0
        if stored > a.data.shape[0]:
            raise r.error(f"indptr ends at {stored}, but {a.data.shape[0]} values are stored")
    if indices.numel() != a.data.shape[0]:
        raise r.error(f"expected {a.data.shape[0]} indices, one per stored value, found {indices.numel()}")
    limit = shape[1] if a.stype == "csr" else shape[0]
    if indices.numel() and (int(indices.min()) < 0 or int(indices.max()) >= limit):
        raise r.error(f"indices from {int(indices.min())} to {int(indices.max())}, expected 0 to {limit - 1}")


def dense(a: Stored) -> torch.Tensor | None:
    """The values of an array.

    Args:
        a: the array.

    Returns:
        A tensor; elements that a sparse array does not store are 0. None for an array without a value.

    Raises:
        IndexError: indices point outside the array.

    Example:
        >>> import torch
        >>> from compatgrad.formats import params
        >>> params.dense(params.Stored((3, 1), torch.ones(1, 1), "row_sparse", [torch.tensor([1])]))
        tensor([[0.],
                [1.],
                [0.]])

    Source: `compatgrad/formats/params.py`.
    """
    if a.shape is None or a.data is None or a.stype == "default":
        return a.data
    out = torch.zeros(a.shape, dtype=a.data.dtype)
    aux = [t.to(torch.int64) for t in a.aux]
    if a.stype == "row_sparse":
        out[aux[0]] = a.data
    elif aux[0].numel():
        rows = torch.repeat_interleave(torch.arange(a.shape[0]), aux[0].diff())
        out[rows, aux[1][: len(rows)]] = a.data[: len(rows)]  # values after the last row's are unused
    return out


def read(source: str | bytes, name: str | None = None) -> tuple[list[Stored], list[str]]:
    """The arrays and names in a `.params` file.

    Args:
        source: path of the file, or its content.
        name: its name in errors; None is the path, or "the buffer".

    Returns:
        The arrays, and their names; the list of names may be empty.

    Raises:
        FileNotFoundError: there is no such file.
        ParamsError: the file is not a `.params` file or is damaged; the message says what is wrong and where.

    Example:
        >>> import torch
        >>> import os, tempfile
        >>> from compatgrad.formats import params
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "x.params")
        ...     params.write(path, [params.Stored((2,), torch.ones(2))], ["x"])
        ...     arrays, names = params.read(path)
        >>> arrays[0].data, names
        (tensor([1., 1.]), ['x'])

    Source: `compatgrad/formats/params.py`.
    """
    if isinstance(source, bytes):
        return _read(Reader(io.BytesIO(source), len(source), name or "the buffer"))
    with open(source, "rb") as stream:
        return _read(Reader(stream, os.fstat(stream.fileno()).st_size, repr(name or source)))


def read_array(source: bytes | bytearray, name: str) -> Stored:
    """One array, as `write_array` writes it.

    Args:
        source: its bytes.
        name: what errors call it.

    Returns:
        The array.

    Raises:
        ParamsError: the bytes are damaged; the message says what is wrong and where.

    Example:
        >>> import torch
        >>> import io
        >>> from compatgrad.formats import params
        >>> out = io.BytesIO()
        >>> params.write_array(out, params.Stored((2,), torch.ones(2)))
        >>> params.read_array(out.getvalue(), "x").data
        tensor([1., 1.])

    Source: `compatgrad/formats/params.py`.
    """
    return _read_array(Reader(io.BytesIO(source), len(source), name))


def _read_head(r: Reader) -> int:
    """The number of arrays."""
    head = r.stream.read(24)
    if len(head) == 24:
        magic, _, n = struct.unpack("<QQQ", head)
        if magic == LIST_MAGIC and n * 4 <= r.size - 24:
            r.at = 24
            return int(n)
    r.stream.seek(0)  # the file is damaged: reading number by number finds what is wrong
    magic = r.number("Q", "the magic number")
    if magic != LIST_MAGIC:
        raise r.error(f"expected the magic number {LIST_MAGIC:#x}, found {magic:#x}; is this a .params file?")
    r.take(8, "the reserved word")
    return r.count("arrays", 4)


def _read(r: Reader) -> tuple[list[Stored], list[str]]:
    if r.size == 0:
        raise r.error("the file is empty")
    n = _read_head(r)
    arrays = []
    for i in range(n):
        r.where = f"array {i} of {n}"
        arrays.append(_read_array(r))
    r.where = "names"
    n_names = r.count("names", 8)
    if n_names not in (0, n):
        raise r.error(f"expected no names or one for each of the {n} arrays, found {n_names}")
    names = []
    for i in range(n_names):
        r.where = f"name {i} of {n_names}"
        raw = r.take(r.number("Q", "its length"), "its text")
        try:
            names.append(raw.decode())
        except UnicodeDecodeError:
            raise r.error(f"{raw[:20]!r} is not UTF-8") from None
    return arrays, names


def _shape_bytes(shape: Sequence[int]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def _raw(t: torch.Tensor) -> Any:
    """The elements, as an object with the buffer protocol."""
    t = t.detach().cpu().contiguous()
    return t.reshape(-1).view(torch.uint8).numpy() if t.dtype is torch.bfloat16 else t.numpy()


_FLAGS = {dtype: flag for flag, dtype in DTYPES.items()}
_STYPE_FLAGS = {stype: flag for flag, stype in STYPES.items()}


def write_array(out: Any, a: Stored) -> None:
    """Writes one array in the format of a file.

    Args:
        out: binary file, open for writing, or another object with its method `write`.
        a: the array, which must have a value.

    Raises:
        AssertionError: the array has no value.
        KeyError: the format does not support the dtype.

    Example:
        >>> import torch
        >>> import io
        >>> from compatgrad.formats import params
        >>> out = io.BytesIO()
        >>> params.write_array(out, params.Stored((2,), torch.ones(2)))
        >>> len(out.getvalue())
        40

    Source: `compatgrad/formats/params.py`.
    """
    assert a.shape is not None and a.data is not None
    head = struct.pack("<Ii", V3_MAGIC if a.np_shape else V2_MAGIC, _STYPE_FLAGS[a.stype])
    if a.aux:
        head += _shape_bytes(a.data.shape)
    head += _shape_bytes(a.shape) + struct.pack("<iii", *a.context, _FLAGS[a.data.dtype])
    for t in a.aux:
        head += struct.pack("<i", _FLAGS[t.dtype]) + _shape_bytes(t.shape)
    out.write(head)
    for t in (a.data, *a.aux):
        out.write(_raw(t))


def write(path: str, arrays: Sequence[Stored], names: Sequence[str]) -> None:
    """Writes a `.params` file, which MXNet can read. It appears under its name when it is complete.

    Args:
        path: path of the file.
        arrays: the arrays, which must have values.
        names: a name for each array, or an empty list.

    Raises:
        AssertionError: an array has no value.
        KeyError: the format does not support the dtype.
        OSError: the file cannot be written.

    Example:
        >>> import torch
        >>> import os, tempfile
        >>> from compatgrad.formats import params
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "x.params")
        ...     params.write(path, [params.Stored((2,), torch.ones(2))], ["x"])
        ...     os.path.getsize(path)
        81

    Source: `compatgrad/formats/params.py`.
    """
    with replacing(path) as out:
        out.write(struct.pack("<QQQ", LIST_MAGIC, 0, len(arrays)))
        for a in arrays:
            write_array(out, a)
        out.write(struct.pack("<Q", len(names)))
        for name in names:
            raw = name.encode()
            out.write(struct.pack("<Q", len(raw)) + raw)
