"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import Any

__all__ = ["beside", "replacing"]


@contextlib.contextmanager
def beside(path: str | os.PathLike[str]) -> Iterator[str]:
    """Gives a name to write a file under, which takes the place of `path` where the block ends without an exception.

    Otherwise, at Ctrl-C too, what stood at `path` stays as it was. A link stays one, and a file keeps its permissions.
    Pipes and devices are written to directly, and so is a file in a folder that takes no new ones. OSErrors name
    `path`: that it cannot be written shows before the block.
    """
    path = os.fspath(path)
    old = os.stat(path) if os.path.exists(path) else None
    if old is not None and not stat.S_ISREG(old.st_mode):
        yield path
        return
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".compatgrad-{secrets.token_hex(8)}.tmp")
    try:
        open(temporary, "xb").close()
    except OSError as error:
        if old is None or not isinstance(error, PermissionError):
            raise type(error)(error.errno, error.strerror, path) from None
        temporary = ""
    if not temporary:
        yield path
        return
    try:
        yield temporary
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[Any]:
    """``open(path, mode, **options)`` to write a file anew, which stands there once the block ends: see `beside`."""
    with beside(path) as name, open(name, mode, **options) as file:
        yield file
