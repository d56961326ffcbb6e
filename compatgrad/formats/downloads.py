"""Downloads that are saved only if they are complete."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from typing import Any

from compatgrad.core.files import replacing

__all__ = ["fetch"]

BLOCK = 1 << 20


def fetch(url: str, path: str, progress: Callable[[int, int], Any] | None = None, context: Any = None) -> None:
    """Downloads a file, which is saved only if it is complete.

    Args:
        url: address of the file.
        path: path to which it is written.
        progress: called after each block with the number of bytes so far and the announced length, 0 if none is
            announced.
        context: an `ssl.SSLContext`; None is Python's own.

    Raises:
        OSError: the file cannot be downloaded or written, or ends before the announced length.
        ValueError: `url` is not a URL.

    Example:
        >>> import os, pathlib, tempfile
        >>> from compatgrad.formats.downloads import fetch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     source = pathlib.Path(folder, "source")
        ...     count = source.write_bytes(b"content")
        ...     fetch(source.as_uri(), os.path.join(folder, "copy"), progress=print)
        7 7

    Source: `compatgrad/formats/downloads.py`.
    """
    with urllib.request.urlopen(url, context=context) as source, replacing(path) as file:
        total, got = int(source.headers.get("Content-Length") or 0), 0
        while block := source.read(BLOCK):
            file.write(block)
            got += len(block)
            if progress is not None:
                progress(len(block), total)
        if got < total:  # http.client does not raise an error if it reads by blocks
            raise OSError(f"{url} ended after {got} of {total} bytes")
