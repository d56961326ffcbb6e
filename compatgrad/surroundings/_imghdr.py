"""The module `imghdr`, which Python 3.13 removed: an image file's format by its first bytes."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

# format, offset, and the bytes that may be there
_SIGNS = [
    ("jpeg", 6, (b"JFIF", b"Exif")),
    ("jpeg", 0, (b"\xff\xd8\xff\xdb",)),
    ("png", 0, (b"\x89PNG\r\n\x1a\n",)),
    ("gif", 0, (b"GIF87a", b"GIF89a")),
    ("tiff", 0, (b"MM", b"II")),
    ("rgb", 0, (b"\x01\xda",)),
    ("rast", 0, (b"\x59\xa6\x6a\x95",)),
    ("xbm", 0, (b"#define ",)),
    ("bmp", 0, (b"BM",)),
    ("exr", 0, (b"\x76\x2f\x31\x01",)),
]
_NETPBM = {b"1": "pbm", b"4": "pbm", b"2": "pgm", b"5": "pgm", b"3": "ppm", b"6": "ppm"}

tests: list[Callable[[bytes, Any], str | None]] = []  # the program's own, asked last


def what(file: str | PathLike[str] | Any, h: bytes | None = None) -> str | None:
    """The format of the image in a file (a path, or a file open for reading), or in the bytes `h`; None if unknown."""
    opened = None
    if h is None:
        if isinstance(file, (str, PathLike)):
            with open(file, "rb") as opened:
                h = opened.read(32)
        else:
            start = file.tell()
            h = file.read(32)
            file.seek(start)
    for name, offset, signs in _SIGNS:
        if h[offset:].startswith(signs):
            return name
    if len(h) >= 3 and h[:1] == b"P" and h[2:3] in (b" ", b"\t", b"\n", b"\r") and h[1:2] in _NETPBM:
        return _NETPBM[h[1:2]]
    if h.startswith(b"RIFF") and h[8:12] == b"WEBP":
        return "webp"
    for test in tests:
        if found := test(h, opened):
            return found
    return None
