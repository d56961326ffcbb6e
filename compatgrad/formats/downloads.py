"""Downloads: a file is there whole or not at all."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from typing import Any

from compatgrad.core.files import replacing

__all__ = ["fetch"]

BLOCK = 1 << 20


def fetch(url: str, path: str, progress: Callable[[int, int], Any] | None = None, context: Any = None) -> None:
    """Writes what is at `url` to the file `path`. OSError where it cannot be had, or ends before the length announced.

    progress: called after each block with its size and the length announced, 0 where none is. context: an SSLContext.
    """
    with urllib.request.urlopen(url, context=context) as source, replacing(path) as file:
        total, got = int(source.headers.get("Content-Length") or 0), 0
        while block := source.read(BLOCK):
            file.write(block)
            got += len(block)
            if progress is not None:
                progress(len(block), total)
        if got < total:  # http.client tells nobody when it reads by blocks
            raise OSError(f"{url} ended after {got} of {total} bytes")
