"""Zip archives; the announced size of a member is compared with the file's size before the member is unpacked."""

from __future__ import annotations

import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

__all__ = ["DEFLATE", "Zip", "damage"]

DEFLATE = 1032  # the largest possible compression factor of deflate

# the exceptions that zipfile and its decompressors raise for damaged archives
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, RuntimeError, OverflowError,
           UnicodeError, lzma.LZMAError, ValueError, OSError)  # fmt: skip


@contextmanager
def damage(what: str) -> Iterator[None]:
    """Converts every error of a damaged archive to one class, with a message that names the archive.

    Args:
        what: the name of the archive or its member in the message.

    Yields:
        None.

    Raises:
        zipfile.BadZipFile: in place of the exceptions of unpacking.

    Example:
        >>> import zlib
        >>> from compatgrad.formats import archives
        >>> try:
        ...     with archives.damage("a.zip"):
        ...         zlib.decompress(b"no")
        ... except Exception as error:
        ...     print(type(error).__name__, str(error)[:29])
        BadZipFile a.zip is truncated or damaged

    Source: `compatgrad/formats/archives.py`.
    """
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except DAMAGED as error:
        raise zipfile.BadZipFile(f"{what} is truncated or damaged: {error}") from error


class Zip:
    """A zip archive to read; `names` are those of its members.

    Args:
        file: path of the file, or a binary file open for reading.
        name: its name in errors; "" is the path.

    Raises:
        FileNotFoundError: there is no such file.
        zipfile.BadZipFile: the file is not an archive, or is damaged; or, when a member is read, the member cannot have
        the size that it announces.

    Example:
        >>> import io, zipfile
        >>> from compatgrad.formats.archives import Zip
        >>> file = io.BytesIO()
        >>> with zipfile.ZipFile(file, "w") as new:
        ...     new.writestr("a.txt", "x")
        >>> with Zip(file) as archive:
        ...     archive.names, archive.read("a.txt")
        (['a.txt'], b'x')

    Source: `compatgrad/formats/archives.py`.
    """

    def __init__(self, file: Any, name: str = "") -> None:
        self.name = name or (os.fsdecode(file) if isinstance(file, (str, bytes, os.PathLike)) else "the archive")
        with damage(self.name):
            self.zip = zipfile.ZipFile(file)
            source: Any = self.zip.fp
            at = source.tell()
            self.size = source.seek(0, io.SEEK_END)
            source.seek(at)
        members = self.zip.infolist()
        self.names = [member.filename for member in members]
        packed = sum(member.compress_size for member in members)
        if packed > self.size:
            self.zip.close()
            raise zipfile.BadZipFile(
                f"{self.name}: expected members of together at most {self.size} bytes, the size of the file; they "
                f"announce {packed}: they overlap"
            )

    def __enter__(self) -> Zip:
        return self

    def __exit__(self, *_: Any) -> None:
        self.zip.close()

    def member(self, name: str) -> zipfile.ZipInfo:
        """The archive's entry for a member. BadZipFile if the entry is impossible, KeyError if the member does not
        exist."""
        member = self.zip.getinfo(name)
        what = f"{self.name}: member {name!r}"
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise zipfile.BadZipFile(f"{what} is compressed by method {member.compress_type}, not deflate")
        if member.flag_bits & 1:
            raise zipfile.BadZipFile(f"{what} is encrypted")
        if member.file_size > DEFLATE * member.compress_size + 64:
            raise zipfile.BadZipFile(
                f"{what} announces {member.file_size} bytes, which its {member.compress_size} bytes cannot hold"
            )
        return member

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Opens a member for reading."""
        member = self.member(name)
        with damage(f"{self.name}: member {name!r}"):
            file = self.zip.open(member)
        with file:
            yield file

    def read(self, name: str, limit: int | None = None) -> bytes:
        """The content of a member. ValueError if it announces more than `limit` bytes."""
        member = self.member(name)
        if limit is not None and member.file_size > limit:
            raise ValueError(
                f"{self.name}: member {name!r} announces {member.file_size} bytes, expected at most {limit}"
            )
        with damage(f"{self.name}: member {name!r}"):
            return self.zip.read(member)
