"""Opens files on disk, on the web and in S3, and determines their extensions."""

from __future__ import annotations

import contextlib
import io
import os
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from compatgrad.formats import hdf5

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO


class FileReader:
    """Opens files on disk, on the web and in S3, by name, or relative to a base file.

    Args:
        base_uri: a path, an http(s) address, or s3://bucket/key, which needs boto3 and its credentials.

    Raises:
        ImportError: boto3 is needed and not installed.

    Example:
        >>> import os
        >>> from compatgrad.nnabla.utils.data_source_loader import FileReader
        >>> os.mkdir("data")
        >>> _ = open("data/list.txt", "w").write("a.csv"), open("data/a.csv", "w").write("1,2")
        >>> reader = FileReader("data/list.txt")
        >>> with reader.open(textmode=True) as names, reader.open(names.read()) as file:
        ...     file.read(), file.ext
        (b'1,2', '.csv')

    Source: `nnabla.utils.data_source_loader.FileReader` of nnabla 1.39.0.
    """

    def __init__(self, base_uri: str) -> None:
        self._base_uri = base_uri
        self.base_ext = os.path.splitext(base_uri)[1].lower()
        scheme = base_uri.partition("://")[0].lower()
        self._file_type = {"s3": "s3", "http": "http", "https": "http"}.get(scheme, "file")
        if self._file_type == "s3":
            try:
                import boto3
            except ImportError as error:
                raise ImportError(f"FileReader: {base_uri} needs boto3: pip install boto3") from error
            bucket, _, self._s3_base_key = base_uri.partition("://")[2].partition("/")
            self._s3_bucket = boto3.session.Session().resource("s3").Bucket(bucket)

    def _path(self, filename, folder):
        # The path or address of `filename`, relative to the file `folder`.
        filename = filename.replace("\\", "/")
        if self._file_type == "file":
            return os.path.abspath(os.path.join(os.path.dirname(folder.replace("\\", "/")), filename))
        scheme, _, rest = folder.partition("://")
        # urljoin does not support s3, so it gets an http address
        return urljoin("http://" + rest, filename).replace("http://", scheme + "://", 1)

    def read_s3_object(self, key: str) -> bytes:
        """The bytes of the object `key` in the bucket."""
        return self._s3_bucket.Object(key).get()["Body"].read()

    def _open(self, path, textmode, encoding):
        if self._file_type == "file":
            return open(path, encoding=encoding) if textmode else open(path, "rb")
        if self._file_type == "s3":
            data = self.read_s3_object(path.partition("://")[2].partition("/")[2])
        else:
            with urllib.request.urlopen(path) as response:
                data = response.read()
        return io.StringIO(data.decode(encoding)) if textmode else io.BytesIO(data)

    @contextlib.contextmanager
    def open(self, filename: str | None = None, textmode: bool = False, encoding: str = "utf-8-sig") -> Iterator[Any]:
        """A context manager for the opened file, which has its extension as `ext`.

        `filename` is relative to the file `base_uri`, which is itself opened where `filename` is None. With `textmode`
        reads return str, decoded by `encoding`, else bytes. Raises FileNotFoundError if there is no such file on
        disk.
        """
        path = self._base_uri if filename is None else self._path(filename, self._base_uri)
        with _Named(self._open(path, textmode, encoding), os.path.splitext(path)[1].lower()) as file:
            yield file

    @contextlib.contextmanager
    def open_cache(self, cache_name: str) -> Iterator[Any]:
        """A context manager for the .h5 file `cache_name` in the folder base_uri."""
        path = self._path(cache_name, self._base_uri + "/")
        if self._file_type == "file":
            with hdf5.opening(path) as h5:
                yield h5
        else:
            with self._open(path, False, None) as file, hdf5.opening(file) as h5:
                yield h5

    def listdir(self) -> list[str]:
        """The sorted names of the .h5 files in the folder base_uri; None on the web."""
        if self._file_type == "http":
            return None
        if self._file_type == "s3":
            found = self._s3_bucket.objects.filter(Prefix=self._s3_base_key + "/", Delimiter="/")
            names = [os.path.basename(item.key) for item in found]
        else:
            names = os.listdir(self._base_uri)
        return sorted(name for name in names if name.lower().endswith(".h5"))


class _Named:
    # A wrapper of a file with the attribute `ext`, because attributes of files cannot be set.
    def __init__(self, file, ext):
        self._file = file
        self.ext = ext

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __iter__(self):
        return iter(self._file)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()


_SIGNATURES = {
    ".bmp": (b"BM",),
    ".pgm": (b"P5\n",),
    ".jpg": (b"\xff\xd8\xff",),
    ".png": (b"\x89PNG\r\n\x1a\n",),
    ".tiff": (b"I I", b"II*\0", b"MM\0*"),
    ".eps": (b"\xc5\xd0\xd3\xc6",),
    ".gif": (b"GIF87a", b"GIF89a"),
    ".ico": (b"\0\0\1\0",),
    ".wav": (b"RIFF",),
}


def get_file_extension(source: Any) -> str:
    """The extension of a file, in lower case.

    Args:
        source: a path, an address, or an open file; where an open file has no name, its first bytes determine the
            extension.

    Returns:
        The extension with its dot; "" where it is unknown, and for other objects.

    Raises:
        OSError: an open file without a name is not seekable.

    Example:
        >>> import io
        >>> from compatgrad.nnabla.utils.data_source_loader import get_file_extension
        >>> get_file_extension("data/photo.JPG"), get_file_extension(io.BytesIO(b"GIF89a..."))
        ('.jpg', '.gif')

    Source: `nnabla.utils.data_source_loader.get_file_extension` of nnabla 1.39.0.
    """
    if isinstance(source, str):
        return os.path.splitext(source)[1].lower()
    if not hasattr(source, "read"):
        return ""
    if isinstance(getattr(source, "name", None), str):
        return os.path.splitext(source.name)[1].lower()
    source.seek(0)
    begin = source.read(132)
    source.seek(0)
    if begin[128:] == b"DICM":
        return ".dcm"
    return next((ext for ext, starts in _SIGNATURES.items() if begin.startswith(starts)), "")


class ResourceFileReader:
    """A file whose extension is known: a path, an address, or an open file.

    Args:
        source: the path or address, or a seekable file opened for reading bytes.

    Raises:
        ValueError: `source` is none of these.

    Example:
        >>> from compatgrad.nnabla.utils.data_source_loader import ResourceFileReader
        >>> _ = open("a.csv", "w").write("1,2")
        >>> with ResourceFileReader("a.csv").open() as file:
        ...     file.read(), file.ext
        (b'1,2', '.csv')

    Source: `nnabla.utils.data_source_loader.ResourceFileReader` of nnabla 1.39.0.
    """

    def __init__(self, source: str | BinaryIO) -> None:
        self._source = source
        if isinstance(source, str):
            self.handler = FileReader(source)
            self.ext = self.handler.base_ext
            if not self.ext:
                with self.handler.open() as file:
                    self.ext = get_file_extension(io.BytesIO(file.read(132)))
        elif self._is_binary_file(source):
            self.handler = source
            self.ext = get_file_extension(source)
        else:
            raise ValueError(
                f"ResourceFileReader: expected a path or a seekable binary file, got {type(source).__name__}"
            )

    @staticmethod
    def _is_binary_file(source):
        try:
            source.seek(0)
            first = source.read(1)
            source.seek(0)
        except (AttributeError, OSError, ValueError):
            return False
        return isinstance(first, bytes)

    @contextlib.contextmanager
    def open(self) -> Iterator[Any]:
        """A context manager for the opened file, which has its extension as `ext`."""
        if isinstance(self.handler, FileReader):
            with self.handler.open() as file:
                file.ext = file.ext or self.ext
                yield file
        else:
            self.handler.seek(0)
            yield _Named(self.handler, self.ext)
            self.handler.seek(0)
