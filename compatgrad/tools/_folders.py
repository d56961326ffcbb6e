"""Temporary folders of commands, which are removed even if the command is killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["temporary"]

_LOCK = ".lock"  # who holds it uses the folder
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def temporary(prefix: str, remove: Callable[[Path], None] = shutil.rmtree) -> Iterator[Path]:
    """A new folder, from which `remove` removes at the end what nobody needs any more. SIGTERM and SIGHUP end the block
    as an exception does. Nothing ends it at SIGKILL: the folder that such a process has left is removed by the next one
    of the same user."""
    _remove_left(prefix)
    # It gets its name when it is locked; without a lock another process would remove it.
    made = Path(tempfile.mkdtemp(prefix=f".{prefix}"))
    lock = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    folder = made.with_name(made.name[1:])
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made.rename(folder)
        with _signals_raise():
            yield folder
    finally:
        (folder / _LOCK).unlink(missing_ok=True)
        os.close(lock)
        for place in (made, folder):
            if place.exists():
                remove(place)


def _remove_left(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # it is another user's, or used, or has no lock
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """Signals that would end the process at once raise SystemExit, whose status is the shell's for such a signal."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {n: signal.signal(n, end) for n in _SIGNALS if signal.getsignal(n) is signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
