"""Files of records (RecordIO), and records that hold an image with its label."""

from __future__ import annotations

import multiprocessing
import numbers
import os
import struct
from collections import namedtuple  # noqa: F401  programs find it here, as in MXNet
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from compatgrad.core.files import naming

from ._image_codec import decode, encode
from .base import MXNetError

__all__ = ["MXRecordIO", "MXIndexedRecordIO", "IRHeader", "pack", "unpack", "pack_img", "unpack_img"]

# A record is the magic number, a word with its length (29 bits) and which part of a record it is (3 bits), the data,
# and zeros up to a multiple of four. Where the data hold the magic number at a multiple of four, they are cut there,
# and the number itself is left out.
_MAGIC = 0xCED7230A
_MAGIC_BYTES = struct.pack("<I", _MAGIC)
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)
_MAX_LENGTH = (1 << 29) - 1


def _cuts(data: bytes) -> list[bytes]:
    parts, start, at = [], 0, data.find(_MAGIC_BYTES)
    while at >= 0:
        if at % 4 == 0:
            parts.append(data[start:at])
            start = at + 4
            at = data.find(_MAGIC_BYTES, start)
        else:
            at = data.find(_MAGIC_BYTES, at + 1)
    return [*parts, data[start:]]


def _record(read: Callable[[int], bytes], tell: Callable[[], int], uri: str) -> bytes | None:
    """The next record that `read` gives; None at the end of the file."""
    parts: list[bytes] = []
    while True:
        head = read(8)
        if not head and not parts:
            return None
        if len(head) < 8 or head[:4] != _MAGIC_BYTES:
            raise MXNetError(f"MXRecordIO: {uri!r} is corrupt before byte {tell()}: no record")
        word = struct.unpack("<I", head[4:])[0]
        kind, length = word >> 29, word & _MAX_LENGTH
        data = read(length + -length % 4)
        if len(data) < length + -length % 4 or kind > _LAST or (kind in (_WHOLE, _FIRST)) != (not parts):
            raise MXNetError(f"MXRecordIO: {uri!r} is corrupt before byte {tell()}: cut off")
        parts.append(data[:length])
        if kind in (_WHOLE, _LAST):
            return _MAGIC_BYTES.join(parts)


class _Place:
    """A place in an open file that is read without the position which all readers of the file share."""

    def __init__(self, file: int, at: int) -> None:
        self._file, self._at = file, at

    def read(self, size: int) -> bytes:
        data = os.pread(self._file, size, self._at)
        self._at += len(data)
        return data

    def tell(self) -> int:
        return self._at


class MXRecordIO:
    """A file of records, written or read one after the other.

    Args:
        uri: the path.
        flag: "w" to write, which empties the file, or "r" to read.

    Raises:
        ValueError: `flag` has another value.
        MXNetError: the file cannot be opened; in `read`, it is corrupt.

    Example:
        >>> file = mx.recordio.MXRecordIO("texts.rec", "w")
        >>> for text in (b"one", b"two"): file.write(text)
        >>> file.close()
        >>> file = mx.recordio.MXRecordIO("texts.rec", "r")
        >>> file.read(), file.read(), file.read()
        (b'one', b'two', None)

    Source: `mxnet.recordio.MXRecordIO` of MXNet 1.9.1.
    """

    def __init__(self, uri: str, flag: str) -> None:
        self.uri = os.fspath(uri)
        self.handle: Any = None
        self.flag = flag
        self.pid: int | None = None
        self.is_open = False
        self.open()

    def open(self) -> None:
        """Opens the file, at its beginning."""
        if self.flag not in ("w", "r"):
            raise ValueError(f"MXRecordIO: flag must be 'r' or 'w', not {self.flag!r}")
        self.writable = self.flag == "w"
        try:
            self.handle = open(self.uri, self.flag + "b")
        except OSError as e:
            raise MXNetError(f"MXRecordIO: cannot open {self.uri!r}: {e.strerror}") from e
        self.pid = multiprocessing.current_process().pid
        self.is_open = True

    def __del__(self) -> None:
        if getattr(self, "is_open", False):
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        """The state for a pickle, without the open file, which another process opens itself."""
        is_open = self.is_open
        self.close()
        state = dict(self.__dict__)
        state["is_open"] = is_open
        state["handle"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        is_open, self.is_open = state["is_open"], False
        if is_open:
            self.open()

    def _check_pid(self, allow_reset: bool = False) -> None:
        # after a fork, both processes would share one position in the file
        if self.pid != multiprocessing.current_process().pid:
            if not allow_reset:
                raise RuntimeError(f"MXRecordIO: {self.uri!r} was opened by another process; call reset() first")
            self.reset()

    def close(self) -> None:
        """Closes the file; nothing happens if it is closed."""
        if self.is_open:
            self.handle.close()
            self.is_open = False
            self.pid = None

    def reset(self) -> None:
        """Goes back to the beginning. A file that is written is emptied."""
        self.close()
        self.open()

    def write(self, buf: bytes) -> None:
        """Appends a record."""
        if not self.writable:
            raise AssertionError(f"MXRecordIO: {self.uri!r} is open for reading")
        self._check_pid()
        buf = bytes(buf)
        if len(buf) > _MAX_LENGTH:
            raise MXNetError(f"MXRecordIO: a record of {len(buf)} bytes is too long; at most {_MAX_LENGTH}")
        parts = _cuts(buf)
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            kind = _WHOLE if len(parts) == 1 else _FIRST if i == 0 else _LAST if last else _MIDDLE
            self.handle.write(struct.pack("<II", _MAGIC, kind << 29 | len(part)))
            self.handle.write(part + bytes(-len(part) % 4))

    def read(self) -> bytes | None:
        """The next record; None at the end of the file."""
        if self.writable:
            raise AssertionError(f"MXRecordIO: {self.uri!r} is open for writing")
        self._check_pid()
        return _record(self.handle.read, self.handle.tell, self.uri)

    def _read_at(self, position: int) -> bytes | None:
        """The record at a position, for threads and forked processes: where `read` would go on stays as it is."""
        place = _Place(self.handle.fileno(), position)
        return _record(place.read, place.tell, self.uri)


class MXIndexedRecordIO(MXRecordIO):
    """A file of records with an index, a text file of lines `key`, tab, position: records are read by their key.

    Args:
        idx_path: path of the index.
        uri: path of the records.
        flag: "w" to write, which empties both files, or "r" to read.
        key_type: makes a key of the text in the index.

    Raises:
        ValueError: `flag` has another value.
        MXNetError: the file of records cannot be opened, or a line of the index is no entry.
        OSError: the index cannot be opened.

    Example:
        >>> file = mx.recordio.MXIndexedRecordIO("texts.idx", "texts.rec", "w")
        >>> for key, text in enumerate((b"one", b"two")): file.write_idx(key, text)
        >>> file.close()
        >>> mx.recordio.MXIndexedRecordIO("texts.idx", "texts.rec", "r").read_idx(1)
        b'two'

    Source: `mxnet.recordio.MXIndexedRecordIO` of MXNet 1.9.1.
    """

    def __init__(self, idx_path: str, uri: str, flag: str, key_type: Callable[[Any], Any] = int) -> None:
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: Any = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Opens both files, at their beginning, and reads the index."""
        super().open()
        self.idx, self.keys = {}, []
        try:
            self.fidx = open(self.idx_path, self.flag)
        except OSError:
            self.handle.close()
            self.is_open = False
            raise
        if not self.writable:
            number = 0
            try:
                for line in self.fidx:
                    name, position = line.strip().split("\t")[:2]
                    key = self.key_type(name)
                    self.idx[key] = int(position)
                    self.keys.append(key)
                    number += 1
            except (ValueError, OverflowError) as e:
                raise MXNetError(f"MXIndexedRecordIO: line {number + 1} of {self.idx_path!r} is no index entry") from e

    def close(self) -> None:
        """Closes both files; nothing happens if they are closed."""
        if self.is_open:
            super().close()
            self.fidx.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "fidx": None}

    def seek(self, idx: Any) -> None:
        """Moves to the record of a key; KeyError if it does not exist."""
        if self.writable:
            raise AssertionError(f"MXIndexedRecordIO: {self.uri!r} is open for writing")
        self._check_pid(allow_reset=True)
        with naming(self.uri, ValueError, OverflowError, OSError, to=MXNetError):
            self.handle.seek(self.idx[idx])

    def tell(self) -> int:
        """The position at which the next record will be written."""
        if not self.writable:
            raise AssertionError(f"MXIndexedRecordIO: {self.uri!r} is open for reading")
        return self.handle.tell()

    def read_idx(self, idx: Any) -> bytes | None:
        """The record of a key."""
        self.seek(idx)
        return self.read()

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Appends a record under a key."""
        key = self.key_type(idx)
        position = self.tell()
        self.write(buf)
        self.fidx.write(f"{key}\t{position}\n")
        self.idx[key] = position
        self.keys.append(key)


class IRHeader(NamedTuple):
    """The header of a record: its label and its numbers.

    Args:
        flag: the number of labels if `label` is an array of them, else 0.
        label: a number, or an array of numbers.
        id: number of the record, 64 bits.
        id2: another number, 64 bits.

    Example:
        >>> mx.recordio.IRHeader(0, 3.0, 7, 0).label
        3.0

    Source: `mxnet.recordio.IRHeader` of MXNet 1.9.1.
    """

    flag: int
    label: Any
    id: int
    id2: int


IRHeader.__name__ = "HEADER"  # what the original prints
_HEADER = struct.Struct("<IfQQ")


def pack(header: Any, s: bytes) -> bytes:
    """A record of a header and bytes.

    Args:
        header: the IRHeader, or (flag, label, id, id2); `label` is a number or an array of numbers, kept as float32,
            and `flag` is replaced by 0 or the number of labels.
        s: the bytes.

    Returns:
        The record's bytes.

    Raises:
        TypeError: the header has another number of parts.
        ValueError: a label is no number.

    Example:
        >>> header, data = mx.recordio.unpack(mx.recordio.pack((0, [1, 2], 7, 0), b"abc"))
        >>> header.label, data
        (array([1., 2.], dtype=float32), b'abc')

    Source: `mxnet.recordio.pack` of MXNet 1.9.1.
    """
    header = IRHeader(*header)
    if isinstance(header.label, numbers.Number):
        header = header._replace(flag=0)
    else:
        label = np.asarray(header.label, dtype=np.float32)
        header = header._replace(flag=label.size, label=0)
        s = label.tobytes() + s
    return _HEADER.pack(*header) + s


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """The header and the bytes of a record that `pack` made.

    Args:
        s: the record's bytes.

    Returns:
        The IRHeader, with a float or a float32 array as label, and the bytes.

    Raises:
        MXNetError: the record is cut off.

    Example:
        >>> mx.recordio.unpack(mx.recordio.pack((0, 3, 7, 0), b"abc"))
        (HEADER(flag=0, label=3.0, id=7, id2=0), b'abc')

    Source: `mxnet.recordio.unpack` of MXNet 1.9.1.
    """
    if len(s) < _HEADER.size:
        raise MXNetError(f"recordio.unpack: a record of {len(s)} bytes has no header, which takes {_HEADER.size}")
    header = IRHeader(*_HEADER.unpack_from(s))
    s = s[_HEADER.size :]
    if header.flag > 0:
        if len(s) < 4 * header.flag:
            raise MXNetError(f"recordio.unpack: the record is cut off in its {header.flag} labels")
        header = header._replace(label=np.frombuffer(s, np.float32, header.flag))
        s = s[4 * header.flag :]
    return header, s


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, np.ndarray]:
    """The header and the image of a record that `pack_img` made.

    Args:
        s: the record's bytes.
        iscolor: 0: the image is made grey; 1: it gets three colours; -1: as it is.

    Returns:
        The IRHeader and the image, uint8 of shape (height, width, 3), the colours in the order BGR, or (height, width)
            if it is grey.

    Raises:
        MXNetError: the record is cut off, or holds no image.

    Example:
        >>> record = mx.recordio.pack_img((0, 3, 7, 0), np.full((2, 2, 3), 9, np.uint8), img_fmt=".png")
        >>> mx.recordio.unpack_img(record)[1].shape
        (2, 2, 3)

    Source: `mxnet.recordio.unpack_img` of MXNet 1.9.1.
    """
    header, s = unpack(s)
    return header, decode(s, iscolor, rgb=False)


def pack_img(header: Any, img: np.ndarray, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """A record of a header and an image.

    Args:
        header: as in `pack`.
        img: uint8 of shape (height, width, 3), the colours in the order BGR, or (height, width) for a grey image.
        quality: of JPEG, 1 to 100; of PNG, the compression, 0 to 9.
        img_fmt: ".jpg", ".jpeg" or ".png".

    Returns:
        The record's bytes.

    Raises:
        ValueError: `img_fmt` has another value.
        TypeError: the image has another number of channels.

    Example:
        >>> record = mx.recordio.pack_img((0, 3, 7, 0), np.zeros((2, 2, 3), np.uint8))
        >>> mx.recordio.unpack_img(record)[0].label
        3.0

    Source: `mxnet.recordio.pack_img` of MXNet 1.9.1.
    """
    return pack(header, encode(img, quality, img_fmt))
